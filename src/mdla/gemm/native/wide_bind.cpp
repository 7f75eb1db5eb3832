// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the stages around products of residues in float64.
#include "ndarray_views.hpp"
#include "survey.hpp"
#include "wide_residues.hpp"

namespace mdla {
namespace {

constexpr char what[] = "product by residues in float64";

// Digits of 8 bits in place of residues: residue_reconstruct takes them as they are.
residue_forms* byte_forms(int count) {
  // Sums of bytes times bytes of weights, and 256 times that, are below 2^31.
  if (count < 1 || count > 510) bad_argument(what, "1 to 510 bytes can be put together");
  return new residue_forms(std::vector<int>((std::size_t)count, 256), {});
}

void require_moduli(const double* m, long long count) {
  for (long long i = 0; i < count; ++i)
    if (!(m[i] >= 3 && m[i] < 1 << wide_bits)) bad_argument(what, "moduli are 3 to 2^23");
}

void convert(nb::handle x, bool lanes_are_lines, nb::handle exponents, int bits, int words,
             nb::handle constants, nb::handle moduli, nb::handle out) {
  const buffer p(x, false, what), e(exponents, false, what), c(constants, false, what);
  const buffer m(moduli, false, what), o(out, true, what);
  if (!p.holds<double>() || p.ndim() != 4 || p.shape(0) < 1 || p.shape(0) > 2 || p.shape(1) < 1 ||
      p.shape(1) > max_cut_limbs)
    bad_argument(what, "float64 planes (parts, N, lines, entries) are needed");
  const entries_view view{p.data<double>(), p.stride(0),     p.stride(1), p.stride(2), p.stride(3),
                          (int)p.shape(0),  (int)p.shape(1), p.shape(2),  p.shape(3)};
  if (bits < 2 || words < 1 || words > most_halves || 32LL * words < bits + 2 ||
      bits > most_cut_bits || 2 * view.parts * words > most_halves)
    bad_argument(what, "the integers do not fit");
  if (!e.holds<int>() || !e.is_contiguous() ||
      e.size() != (lanes_are_lines ? view.lanes : view.steps))
    bad_argument(what, "an int32 exponent for each lane is needed");
  if (!are_exponents(e.data<int>(), e.size()))
    bad_argument(what, "exponents must be those of a survey");
  if (!m.holds<double>() || !m.is_contiguous() || m.size() < 1)
    bad_argument(what, "a float64 modulus for each form is needed");
  const int forms = (int)m.size();
  require_moduli(m.data<double>(), forms);
  if (!c.holds<double>() || !c.is_contiguous() ||
      c.size() != forms * (2LL * view.parts * words + 1))
    bad_argument(what, "constants are missing");
  if (!o.holds<double>() || !o.is_contiguous() || o.ndim() != 3 || o.shape(0) != forms ||
      o.shape(1) != view.lanes || o.shape(2) < view.steps || o.shape(2) % wide_line != 0)
    bad_argument(what, "the residues need a float64 array (forms, lines, a multiple of 32)");
  const wide_format format{
      bits, words, e.data<int>(), lanes_are_lines, c.data<double>(), m.data<double>(), forms};
  nb::gil_scoped_release release;
  wide_convert(view, format, o.data<double>(), o.shape(2));
}

void reduce(nb::handle products, double modulus, double half, double over, nb::handle out,
            int planes, int first, bool add) {
  const buffer p(products, false, what), o(out, true, what);
  if (!p.holds<double>() || !p.is_contiguous() || p.ndim() != 3 || p.shape(0) < 1 || p.shape(0) > 2)
    bad_argument(what, "float64 products (forms, rows, columns) are needed");
  require_moduli(&modulus, 1);
  const wide_products x{
      p.data<double>(), (int)p.shape(0), p.shape(1), p.shape(2), modulus, half, over};
  const product_layout layout{{x.rows, 0}, {x.columns, 0}};
  if (first < 0 || planes < first + wide_bytes || !o.holds<signed char>() || !o.is_contiguous() ||
      o.size() < x.parts * planes * layout.byte_plane())
    bad_argument(what, "the bytes must be int8, C-contiguous and large enough");
  nb::gil_scoped_release release;
  wide_reduce(x, o.data<signed char>(), planes, first, add);
}

}  // namespace

void bind_wide(nb::module_& m) {
  m.attr("wide_bits") = wide_bits;
  m.attr("wide_steps") = wide_steps;
  m.def("byte_forms", &byte_forms, nb::arg("count"));
  m.def("wide_convert", &convert, nb::arg("x"), nb::arg("lanes_are_lines"), nb::arg("exponents"),
        nb::arg("bits"), nb::arg("words"), nb::arg("constants"), nb::arg("moduli"), nb::arg("out"));
  m.def("wide_reduce", &reduce, nb::arg("products"), nb::arg("modulus"), nb::arg("half"),
        nb::arg("over"), nb::arg("out"), nb::arg("planes"), nb::arg("first"), nb::arg("add"));
}

}  // namespace mdla
