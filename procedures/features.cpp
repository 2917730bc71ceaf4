// Operators of classical models: n-grams, labels, thresholds.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "procedures/constant_pieces.h"
#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;
using Numbers = std::vector<std::int64_t>;

// ---- TfIdfVectorizer ----------------------------------------------------------------------------

/// Items are numbers: strings are numbered by where they first stand in the pool.
struct Vocabulary {
  std::map<Numbers, std::size_t> columns;  // of n-grams
  std::size_t width = 0;
  std::vector<double> weights;  // by column
  std::int64_t shortest = 1, longest = 1, skips = 0;
  bool counts = true, weighs = false;
};

/// The n-grams of the pool that are long enough and not too long.
Result<void> read_pool(const NodeAttributes& attributes, const Numbers& pool, Vocabulary& words,
                       std::vector<std::size_t>& columns) {
  const auto starts = attributes.integers("ngram_counts");
  const auto indices = attributes.integers("ngram_indexes");
  if (!starts || !indices) return bad_input("ngram_counts or ngram_indexes is missing");
  std::size_t number = 0;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::size_t length = i + 1;
    const std::int64_t begin = (*starts)[i];
    const std::int64_t end =
        i + 1 < starts->size() ? (*starts)[i + 1] : static_cast<std::int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(pool.size()) ||
        static_cast<std::size_t>(end - begin) % length != 0)
      return bad_input("ngram_counts does not divide the pool");
    for (auto at = static_cast<std::size_t>(begin); at < static_cast<std::size_t>(end);
         at += length, ++number) {
      if (number >= indices->size() || (*indices)[number] < 0)
        return bad_input("ngram_indexes does not fit the pool");
      const auto column = static_cast<std::size_t>((*indices)[number]);
      columns.push_back(column);
      if (static_cast<std::int64_t>(length) < words.shortest ||
          static_cast<std::int64_t>(length) > words.longest)
        continue;
      const auto first = pool.begin() + static_cast<std::ptrdiff_t>(at);
      words.columns[Numbers(first, first + static_cast<std::ptrdiff_t>(length))] = column;
    }
  }
  if (number != indices->size()) return bad_input("ngram_indexes does not fit the pool");
  for (const std::int64_t index : *indices)
    words.width = std::max(words.width, static_cast<std::size_t>(index) + 1);
  return {};
}

Result<Vocabulary> vocabulary_of(const NodeAttributes& attributes, const Numbers& pool) {
  constexpr std::int64_t widest = 1 << 28;
  Vocabulary words;
  words.shortest = attributes.integer("min_gram_length", 1);
  words.longest = attributes.integer("max_gram_length", 1);
  words.skips = attributes.integer("max_skip_count", 0);
  if (words.shortest < 1 || words.longest < words.shortest || words.skips < 0)
    return bad_input("the lengths of n-grams are wrong");
  // The pool has no longer ones, and a longer distance than any row says nothing.
  words.longest = std::min(words.longest, static_cast<std::int64_t>(pool.size()));
  words.skips = std::min(words.skips, std::int64_t{1} << 40);
  const std::string mode = attributes.string("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return bad_input(fmt::format("mode is '{}', not TF, IDF or TFIDF", mode));
  words.counts = mode != "IDF";
  words.weighs = mode != "TF";
  for (const std::int64_t index : attributes.integers("ngram_indexes").value_or(Numbers()))
    if (index >= widest) return unsupported("an n-gram with a very large index");
  std::vector<std::size_t> columns;
  LEMMA_RETURN_IF_ERROR(read_pool(attributes, pool, words, columns));
  words.weights.assign(words.width, 1);
  const AttributeValue* weights = attributes.values.find("weights");
  const Reals* given = weights != nullptr ? std::get_if<Reals>(weights) : nullptr;
  if (given != nullptr) {
    if (given->size() != columns.size()) return bad_input("there is not a weight for each n-gram");
    for (std::size_t i = 0; i < columns.size(); ++i) words.weights[columns[i]] = (*given)[i];
  }
  return words;
}

/// How often each n-gram stands in a row of items, where items of an n-gram may be some distance apart.
std::vector<double> occurrences(const Vocabulary& words, std::span<const std::int64_t> row) {
  std::vector<double> counts(words.width);
  const auto size = static_cast<std::int64_t>(row.size());
  for (std::int64_t length = words.shortest; length <= words.longest; ++length)
    for (std::int64_t distance = 1; distance <= words.skips + 1; ++distance) {
      if (length == 1 && distance > 1) break;  // one item has no distances
      // The last item is at start + distance * (length - 1).
      if (length - 1 > size / distance) break;
      for (std::int64_t start = 0; start + distance * (length - 1) < size; ++start) {
        Numbers gram;
        for (std::int64_t i = 0; i < length; ++i)
          gram.push_back(row[static_cast<std::size_t>(start + i * distance)]);
        if (const auto column = words.columns.find(gram); column != words.columns.end())
          ++counts[column->second];
      }
    }
  return counts;
}

/// The items of the input as numbers, and the pool in the same ones.
struct Items {
  Numbers input, pool, sizes;
};

Result<Items> items_of(const ProcedureCall& call) {
  Items items;
  if (const Strings* strings = call.has(0) ? call.inputs[0].strings() : nullptr) {
    const auto pool = call.attributes.strings.find("pool_strings");
    if (pool == call.attributes.strings.end()) return bad_input("pool_strings is missing");
    std::map<std::string, std::int64_t> numbers;
    for (const std::string& word : pool->second)
      items.pool.push_back(
          numbers.emplace(word, static_cast<std::int64_t>(numbers.size())).first->second);
    for (const std::string& word : strings->elements) {
      const auto number = numbers.find(word);
      items.input.push_back(number != numbers.end() ? number->second : -1);
    }
    items.sizes = strings->sizes;
    return items;
  }
  LEMMA_ASSIGN_OR_RETURN(const Constant* tensor, call.tensor(0));
  const auto pool = call.attributes.integers("pool_int64s");
  if (!pool || !is_integer(tensor->type().data_type))
    return bad_input("pool_int64s is missing, or the input is of no integers");
  items = {tensor->integers(), *pool, sizes_of(*tensor)};
  return items;
}

Result<Values> tf_idf_vectorizer(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Items items, items_of(call));
  LEMMA_ASSIGN_OR_RETURN(const Vocabulary words, vocabulary_of(call.attributes, items.pool));
  if (items.sizes.empty() || items.sizes.size() > 2)
    return bad_input(fmt::format("TfIdfVectorizer of {}", text(call.inputs[0])));
  const auto length = static_cast<std::size_t>(items.sizes.back());
  const std::size_t rows = items.sizes.size() == 2 ? static_cast<std::size_t>(items.sizes[0]) : 1;
  std::vector<float> result;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::vector<double> counts =
        occurrences(words, std::span(items.input).subspan(i * length, length));
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const double count = words.counts ? counts[k] : (counts[k] > 0 ? 1 : 0);
      result.push_back(static_cast<float>(words.weighs ? count * words.weights[k] : count));
    }
  }
  Numbers sizes = items.sizes;
  sizes.back() = static_cast<std::int64_t>(words.width);
  return Values{Constant::of(DataType::f32, sizes, result)};
}

// ---- LabelEncoder -------------------------------------------------------------------------------

/// The tensor or list whose name begins so, as a vector; nothing if there is none.
RunTimeValue list_of(const NodeAttributes& attributes, const std::string& stem) {
  if (const auto entry = attributes.tensors.find(stem + "_tensor");
      entry != attributes.tensors.end())
    return entry->second;
  if (const auto entry = attributes.strings.find(stem + "_strings");
      entry != attributes.strings.end())
    return Strings{{static_cast<std::int64_t>(entry->second.size())}, entry->second};
  if (const auto list = attributes.integers(stem + "_int64s")) return Constant::of_integers(*list);
  const AttributeValue* value = attributes.values.find(stem + "_floats");
  if (const Reals* reals = value != nullptr ? std::get_if<Reals>(value) : nullptr)
    return Constant::of(DataType::f32, {static_cast<std::int64_t>(reals->size())},
                        std::vector<float>(reals->begin(), reals->end()));
  return {};
}

/// What a label is that is none of the keys, of the type of the values.
RunTimeValue default_label(const NodeAttributes& attributes, const RunTimeValue& values) {
  if (const auto entry = attributes.tensors.find("default_tensor");
      entry != attributes.tensors.end())
    return entry->second;
  if (values.strings() != nullptr)
    return Strings{{1}, {attributes.string("default_string", "_Unused")}};
  if (values.tensor()->type().data_type == DataType::f32)
    return Constant::of(
        DataType::f32, {1},
        std::vector<float>{static_cast<float>(attributes.real("default_float", -0.0))});
  if (values.tensor()->type().data_type == DataType::i64)
    return Constant::of_integers({attributes.integer("default_int64", -1)});
  return {};
}

/// Where each element of the input stands among the keys, the last one counting; past the end for others.
template <typename T>
Numbers positions_among(const std::vector<T>& keys, const std::vector<T>& elements) {
  std::map<T, std::int64_t> known;
  std::int64_t of_nan = static_cast<std::int64_t>(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto position = static_cast<std::int64_t>(i);
    if (keys[i] == keys[i])
      known[keys[i]] = position;
    else
      of_nan = position;
  }
  Numbers positions;
  for (const T& element : elements) {
    const auto entry = element == element ? known.find(element) : known.end();
    if (element != element)
      positions.push_back(of_nan);
    else
      positions.push_back(entry != known.end() ? entry->second
                                               : static_cast<std::int64_t>(keys.size()));
  }
  return positions;
}

Result<Numbers> label_positions(const RunTimeValue& keys, const RunTimeValue& x) {
  if (keys.strings() != nullptr && x.strings() != nullptr)
    return positions_among(keys.strings()->elements, x.strings()->elements);
  if (keys.tensor() == nullptr || x.tensor() == nullptr ||
      keys.tensor()->type().data_type != x.tensor()->type().data_type)
    return bad_input(fmt::format("labels {} and keys {} differ in type", text(x), text(keys)));
  if (is_real(x.tensor()->type().data_type))
    return positions_among(keys.tensor()->reals(), x.tensor()->reals());
  return positions_among(keys.tensor()->integers(), x.tensor()->integers());
}

/// The number of labels in a list.
std::size_t label_count(const RunTimeValue& list) {
  return list.strings() != nullptr ? list.strings()->elements.size()
                                   : list.tensor()->element_count();
}

Result<Values> label_encoder(const ProcedureCall& call) {
  if (!call.has(0)) return bad_input("LabelEncoder has no input");
  const RunTimeValue& x = call.inputs[0];
  const RunTimeValue keys = list_of(call.attributes, "keys"),
                     values = list_of(call.attributes, "values");
  if (keys.is_nothing() || values.is_nothing())
    return bad_input("the keys or values of LabelEncoder are missing");
  if (label_count(keys) != label_count(values))
    return bad_input(fmt::format("LabelEncoder has {} keys and {} values", label_count(keys),
                                 label_count(values)));
  LEMMA_ASSIGN_OR_RETURN(const Numbers positions, label_positions(keys, x));
  const RunTimeValue otherwise = default_label(call.attributes, values);
  const Shape shape = *type_of(x).shape;
  const Numbers sizes = constant_sizes(shape).value_or(Numbers());
  if (const Strings* strings = values.strings()) {
    if (otherwise.strings() == nullptr || otherwise.strings()->elements.size() != 1)
      return bad_input("the default of LabelEncoder is not of the values' type");
    Strings result{sizes, {}};
    for (const std::int64_t position : positions)
      result.elements.push_back(position < static_cast<std::int64_t>(strings->elements.size())
                                    ? strings->elements[static_cast<std::size_t>(position)]
                                    : otherwise.strings()->elements.front());
    return Values{std::move(result)};
  }
  if (otherwise.tensor() == nullptr || otherwise.tensor()->element_count() != 1 ||
      values.tensor()->type().rank() != 1)
    return bad_input("the default of LabelEncoder is missing or no single element");
  LEMMA_ASSIGN_OR_RETURN(const Constant last, with_sizes(*otherwise.tensor(), {1}));
  const std::array<Constant, 2> parts = {*values.tensor(), last};
  LEMMA_ASSIGN_OR_RETURN(const Constant table, joined(parts, 0));
  LEMMA_ASSIGN_OR_RETURN(const Constant labels, gathered(table, 0, positions));
  LEMMA_ASSIGN_OR_RETURN(Constant result, with_sizes(labels, sizes));
  return Values{std::move(result)};
}

// ---- Others -------------------------------------------------------------------------------------

Result<Values> array_feature_extractor(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* given, call.tensor(0));
  LEMMA_ASSIGN_OR_RETURN(const Constant* indices, call.tensor(1));
  Constant x = *given;
  if (x.type().rank() == 0) return bad_input("ArrayFeatureExtractor of a scalar");
  if (indices->type().data_type != DataType::i64) return bad_input("the indices are not i64");
  if (x.type().rank() == 1) {
    LEMMA_ASSIGN_OR_RETURN(x, with_sizes(x, {1, static_cast<std::int64_t>(x.element_count())}));
  }
  const std::size_t axis = x.type().rank() - 1;
  const Numbers positions = indices->integers();
  for (const std::int64_t position : positions)
    if (position < 0 || position >= sizes_of(x)[axis])
      return bad_input(fmt::format("there is no feature {}", position));
  LEMMA_ASSIGN_OR_RETURN(Constant result, gathered(x, axis, positions));
  return Values{std::move(result)};
}

Result<Values> binarizer(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* x, call.tensor(0));
  const DataType type = x->type().data_type;
  if (type != DataType::f32 && type != DataType::f64)
    return unsupported(fmt::format("Binarizer of {}", name(type)));
  const double threshold = call.attributes.real("threshold", 0);
  std::vector<double> above;
  for (const double element : x->reals()) above.push_back(element > threshold ? 1 : 0);
  if (type == DataType::f64) return Values{Constant::of(type, sizes_of(*x), above)};
  return Values{Constant::of(type, sizes_of(*x), std::vector<float>(above.begin(), above.end()))};
}

constexpr std::array feature_procedures = {
    ProcedureRecord{"ArrayFeatureExtractor", "ai.onnx.ml", 1, "the listed slices of the last axis",
                    array_feature_extractor},
    ProcedureRecord{"Binarizer", "ai.onnx.ml", 1, "1 where an element is above a threshold, or 0",
                    binarizer},
    ProcedureRecord{"LabelEncoder", "ai.onnx.ml", 2, "for each element the value of its key",
                    label_encoder},
    ProcedureRecord{"TfIdfVectorizer", "", 9, "how often each known n-gram stands in a row",
                    tf_idf_vectorizer},
};

}  // namespace

std::span<const ProcedureRecord> features() { return feature_procedures; }

}  // namespace lemma::procedures
