// SPDX-License-Identifier: BSD-3-Clause
// Bindings of the stages of a product by residues.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "ndarray_views.hpp"
#include "residues.hpp"
#include "survey.hpp"

namespace mdla {
namespace {

constexpr char what[] = "product by residues";

const residue_ops& ops_of(const std::string& engine) {
  const residue_ops* ops = residue_engine(engine.c_str());
  if (!ops) bad_argument(what, ("this machine has no engine " + engine).c_str());
  return *ops;
}

bool has_engine(const std::string& engine) { return residue_engine(engine.c_str()) != nullptr; }

residue_forms* make_forms(const std::vector<int>& bytes, const std::vector<int>& pairs) {
  for (const int m : bytes)
    if (m < 3 || m > 255) bad_argument(what, "moduli of a byte are 3 to 255");
  for (const int m : pairs)
    if (m < 14000 || m > 16256) bad_argument(what, "pair moduli are 14000 to 16256");
  if (bytes.size() > 256 || pairs.size() > 768) bad_argument(what, "too many moduli");
  return new residue_forms(bytes, pairs);
}

template <class E>
const E* whole(const buffer& a, long long size, const char* text) {
  if (!a.holds<E>() || !a.is_contiguous() || a.size() < size) bad_argument(what, text);
  return a.data<E>();
}

const int* exponents_of(const buffer& a, long long lanes, const char* text) {
  const int* e = whole<int>(a, lanes, text);
  if (!are_exponents(e, lanes)) bad_argument(what, "exponents must be those of a survey");
  return e;
}

// So that no number of bytes overflows.
void check_lengths(long long n, long long m) {
  if (n < 0 || m < 0) bad_argument(what, "lengths must not be negative");
  if (((double)n + 64) * ((double)m + 64) > 0x1p48) bad_argument(what, "the matrix is too large");
}

long long operand_bytes(const residue_forms& forms, long long lanes, long long steps) {
  check_lengths(lanes, steps);
  return forms.operand_planes() * operand_layout{lanes, steps}.plane();
}

long long product_bytes(const residue_forms& forms, long long rows, long long columns) {
  check_lengths(rows, columns);
  const product_layout p{{rows, 0}, {columns, 0}};
  return forms.byte_count() * p.byte_plane() + 2 * forms.pair_count() * p.pair_plane();
}

constexpr char whole_residues[] = "residues must be int8, C-contiguous and large enough";

void convert(const std::string& engine, bool columns, nb::handle x, nb::handle exponents, int bits,
             int words, nb::handle constants, const residue_forms& forms, nb::handle out) {
  const residue_ops& ops = ops_of(engine);
  const buffer p(x, false, what), e(exponents, false, what), c(constants, false, what);
  const buffer o(out, true, what);
  if (!p.holds<double>() || p.ndim() != 4 || p.shape(0) < 1 || p.shape(0) > 2 || p.shape(1) < 1 ||
      p.shape(1) > max_cut_limbs)
    bad_argument(what, "float64 planes (parts, N, lanes, steps) are needed");
  const entries_view view{p.data<double>(), p.stride(0),     p.stride(1), p.stride(2), p.stride(3),
                          (int)p.shape(0),  (int)p.shape(1), p.shape(2),  p.shape(3)};
  if (bits < 2 || words < 1 || 32LL * words < bits + 2 || view.parts * words > 64 ||
      bits > most_cut_bits)
    bad_argument(what, "the integers do not fit");
  const int groups = (forms.byte_count() + 15) / 16 + (forms.pair_count() + 7) / 8;
  const int tiles = (view.parts * words + 16) / 16;
  const integer_format format{
      bits,
      words,
      exponents_of(e, view.lanes, "an int32 exponent for each lane is needed"),
      whole<signed char>(c, (long long)groups * tiles * tile_bytes, "constants are missing"),
      groups,
      tiles};
  whole<signed char>(o, operand_bytes(forms, view.lanes, view.steps), whole_residues);
  if ((std::uintptr_t)o.data<signed char>() % 64)
    bad_argument(what, "residues must begin at a multiple of 64 bytes");
  if (view.lanes == 0) return;
  nb::gil_scoped_release release;
  residue_convert(ops, columns, view, format, forms, o.data<signed char>());
}

void multiply(const std::string& engine, long long m, long long k, long long n,
              const residue_forms& forms, nb::handle a, nb::handle b, nb::handle out, bool add) {
  const residue_ops& ops = ops_of(engine);
  const buffer p(a, false, what), q(b, false, what), o(out, true, what);
  const signed char* x = whole<signed char>(p, operand_bytes(forms, m, k), whole_residues);
  const signed char* y = whole<signed char>(q, operand_bytes(forms, n, k), whole_residues);
  whole<signed char>(o, product_bytes(forms, m, n), whole_residues);
  signed char* to = o.data<signed char>();
  nb::gil_scoped_release release;
  if (k == 0) {
    if (!add) std::fill_n(to, product_bytes(forms, m, n), (signed char)0);
    return;
  }
  residue_multiply(ops, {m, k}, {n, k}, forms, x, y, to, add);
}

// Tables of a reconstruction, built once in Python for each system of moduli and number of bits.
struct reconstruction_tables {
  std::vector<signed char> weights;
  std::vector<double> modulus;
  std::vector<std::uint32_t> whole_weights, whole_modulus;
  reconstruction how;
};

reconstruction_tables* make_tables(nb::handle weights, nb::handle modulus, double inverse,
                                   int quantum, int shift, double tie_width,
                                   nb::handle whole_weights, nb::handle whole_modulus, int quads) {
  const buffer w(weights, false, what), m(modulus, false, what);
  const buffer ww(whole_weights, false, what), wm(whole_modulus, false, what);
  const int tiles = (quads + 15) / 16, chunks = (int)m.size();
  if (chunks < 1 || chunks > most_chunks || quads < 1 || quads > most_words || quantum < 1 ||
      quantum > 31 || shift < 0 || !(tie_width >= 0))
    bad_argument(what, "the tables are inconsistent");
  auto t = std::make_unique<reconstruction_tables>();
  const long long size = (long long)((chunks + 3) / 4) * tiles * tile_bytes;
  const signed char* bytes = whole<signed char>(w, size, "weights are missing");
  t->weights.assign(bytes, bytes + size);
  const double* chunk = whole<double>(m, chunks, "M is missing");
  t->modulus.assign(chunk, chunk + chunks);
  const std::uint32_t* large = whole<std::uint32_t>(ww, ww.size(), "whole weights are missing");
  t->whole_weights.assign(large, large + ww.size());
  const std::uint32_t* large_m = whole<std::uint32_t>(wm, wm.size(), "whole M is missing");
  t->whole_modulus.assign(large_m, large_m + wm.size());
  if (32LL * (long long)t->whole_modulus.size() + 64 < shift + quantum)
    bad_argument(what, "the tables are inconsistent");
  t->how = {t->weights.data(),
            quads,
            tiles,
            chunks,
            t->modulus.data(),
            inverse,
            quantum,
            shift,
            tie_width,
            t->whole_weights.data(),
            t->whole_modulus.data(),
            (int)t->whole_modulus.size(),
            0,
            nullptr,
            nullptr};
  return t.release();
}

const double* factor_of(nb::handle x, int limbs) {
  if (x.is_none()) return nullptr;
  return whole<double>(buffer(x, false, what), limbs, "a factor has N limbs");
}

void reconstruct(const std::string& engine, long long k, const residue_forms& forms,
                 nb::handle product, const reconstruction_tables& tables, int exponent,
                 nb::handle row_exponents, nb::handle column_exponents, nb::handle out,
                 nb::handle alpha, nb::handle beta) {
  const residue_ops& ops = ops_of(engine);
  const buffer p(product, false, what), e(row_exponents, false, what);
  const buffer f(column_exponents, false, what), o(out, true, what);
  if (!o.holds<double>() || o.ndim() != 3)
    bad_argument(what, "a float64 result (N, rows, columns) is needed");
  if (exponent < zero_lane || exponent > special_lane) bad_argument(what, "no such exponent");
  const int limbs = (int)o.shape(0);
  const long long m = o.shape(1), n = o.shape(2);
  if (limbs < 1 || limbs > max_limbs || !active_direct_ops().integer_finish[limbs])
    bad_argument(what, "there is no kernel for this number of limbs");
  reconstruction how = tables.how;
  const int residues = forms.byte_count() + forms.pair_count();
  if (how.quads != (forms.byte_count() + 3) / 4 + (forms.pair_count() + 1) / 2 ||
      (long long)tables.whole_weights.size() != (long long)residues * how.whole_words ||
      how.chunks <= limbs)
    bad_argument(what, "the tables are for other moduli");
  how.exponent = exponent;
  how.row_exponents = exponents_of(e, m, "an int32 exponent for each row is needed");
  how.column_exponents = exponents_of(f, n, "an int32 exponent for each column is needed");
  const signed char* residue = whole<signed char>(p, product_bytes(forms, m, n), whole_residues);
  const update_factors factors{factor_of(alpha, limbs), factor_of(beta, limbs)};
  if (m == 0 || n == 0) return;
  nb::gil_scoped_release release;
  residue_reconstruct(ops, {m, k}, {n, k}, forms, residue, how, limbs,
                      {o.data<double>(), o.stride(0), o.stride(1), o.stride(2)}, factors);
}

}  // namespace

void bind_residues(nb::module_& m) {
  nb::class_<residue_forms>(m, "residue_forms")
      .def(nb::new_(&make_forms), nb::arg("bytes"), nb::arg("pairs"));
  nb::class_<reconstruction_tables>(m, "reconstruction_tables")
      .def(nb::new_(&make_tables), nb::arg("weights"), nb::arg("modulus"), nb::arg("inverse"),
           nb::arg("quantum"), nb::arg("shift"), nb::arg("tie_width"), nb::arg("whole_weights"),
           nb::arg("whole_modulus"), nb::arg("quads"));
  m.def("has_residue_engine", &has_engine, nb::arg("engine"));
  m.def("residue_operand_bytes", &operand_bytes, nb::arg("forms"), nb::arg("lanes"),
        nb::arg("steps"));
  m.def("residue_product_bytes", &product_bytes, nb::arg("forms"), nb::arg("rows"),
        nb::arg("columns"));
  m.def("residue_convert", &convert, nb::arg("engine"), nb::arg("columns"), nb::arg("x"),
        nb::arg("exponents"), nb::arg("bits"), nb::arg("words"), nb::arg("constants"),
        nb::arg("forms"), nb::arg("out"));
  m.def("residue_multiply", &multiply, nb::arg("engine"), nb::arg("m"), nb::arg("k"), nb::arg("n"),
        nb::arg("forms"), nb::arg("a"), nb::arg("b"), nb::arg("out"), nb::arg("add"));
  m.def("residue_reconstruct", &reconstruct, nb::arg("engine"), nb::arg("k"), nb::arg("forms"),
        nb::arg("product"), nb::arg("tables"), nb::arg("exponent"), nb::arg("row_exponents"),
        nb::arg("column_exponents"), nb::arg("out"), nb::arg("alpha").none(),
        nb::arg("beta").none());
}

}  // namespace mdla
