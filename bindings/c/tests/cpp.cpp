// livebuf.hpp: compiled with and without exceptions and RTTI, as C++17 and later.
#include <livebuf.hpp>

#include <algorithm>

#include "check.h"

struct Tyre {
  std::string name;
  int wear = 0;
};

struct Lap {
  std::string event;
  std::int64_t lap = 0;
  double time = 0;
  bool valid = false;
  std::optional<std::string> note;
  std::vector<Tyre> tyres;
  std::map<std::string, double> sectors;
  std::array<int, 2> grid{};
};

inline auto livebuf_fields(const Tyre *) {
  return livebuf::fields(livebuf::field("name", &Tyre::name), livebuf::field("wear", &Tyre::wear));
}

inline auto livebuf_fields(const Lap *) {
  return livebuf::fields(
      livebuf::field("event", &Lap::event), livebuf::field("lap", &Lap::lap),
      livebuf::field("time", &Lap::time), livebuf::field("valid", &Lap::valid),
      livebuf::field("note", &Lap::note), livebuf::field("tyres", &Lap::tyres),
      livebuf::field("sectors", &Lap::sectors), livebuf::field("grid", &Lap::grid));
}

static void reading() {
  auto doc = livebuf::document::from_json(
      R"({"race":"Brno","laps":[{"lap":1,"sec":88.25},{"lap":2,"sec":87.5},{"lap":3,"sec":86.75},)"
      R"({"lap":4,"sec":88.5},{"lap":5,"sec":87.25}],"none":null,"big":18446744073709551615})");
  CHECK(doc);
  const auto &view = doc;
  CHECK(view["race"].value_or("") == "Brno");
  CHECK(view["race"].get<std::string>() == "Brno");
  CHECK(!view["race"].get<int>() && view["race"].value_or(7) == 7);
  CHECK(view["laps"][1]["sec"].value_or(0.0) == 87.5);
  CHECK(view["laps"].size() == 5 && view["laps"].is_array());
  CHECK(view["big"].get<std::uint64_t>() == UINT64_MAX && !view["big"].get<std::int64_t>());
  CHECK(!view["laps"][0]["lap"].get<std::string>() && view["laps"][0]["lap"].get<std::int8_t>());
  CHECK(!view["no"]["such"][3]["thing"] && view["no"].error().status == LIVEBUF_NOT_FOUND);
  CHECK(view["none"].is_null() && view["none"].get<std::optional<int>>().has_value());
  CHECK(view.pointer("/laps/4/lap").value_or(0) == 5);
  livebuf::key sec("sec");
  double sum = 0;
  for (livebuf::value lap : view["laps"].elements()) sum += lap[sec].value_or(0.0);
  CHECK(sum == 438.25);
  std::string names;
  for (auto [name, child] : view.root().members()) {
    names += name;
    CHECK(child.exists());
  }
  CHECK(names == "racelapsnonebig");
  names.clear();
  for (auto [name, child] : view.root().between("l", "o")) names += std::string(name) + " ";
  CHECK(names == "laps none ");
  names.clear();
  for (auto each : view.root().prefix("r")) names += each.key;
  CHECK(names == "race");
  livebuf::column seconds = view["laps"].column("/sec");
  CHECK(seconds && seconds.size() == 5 && seconds[2].value_or(0.0) == 86.75);
  livebuf::span<float> slice = view["laps"].column<float>("/sec");
  CHECK(slice.size() == 5 && slice[4] == 87.25f);
  CHECK(view["laps"].column<double>("/sec").empty());
  CHECK(seconds.copy<double>() == std::vector<double>({88.25, 87.5, 86.75, 88.5, 87.25}));
  CHECK(view["laps"].column("/lap").find(4) == std::size_t{3});
  CHECK(!view["laps"].column("/lap").find(9) && !view["laps"].column("/nothing"));
  CHECK(seconds.codes<std::uint8_t>().empty() && !seconds.texts());
}

/// The codes and texts of dictionary columns: of an array, of a table with codes of two bytes,
/// and of a column with a gap, whose codes are not lent.
static void dictionaries() {
  auto states = livebuf::document::from_json(
      R"(["open","closed for good","open","open","held","open","closed for good","open"])");
  livebuf::column column = states.root().column("");
  CHECK(column.type() == LIVEBUF_COLUMN_DICTIONARY_U8 && column.size() == 8);
  livebuf::span<std::uint8_t> codes = column.codes<std::uint8_t>();
  const std::uint8_t expected[] = {0, 1, 0, 0, 2, 0, 1, 0};
  CHECK(codes.size() == 8 && std::equal(codes.begin(), codes.end(), expected));
  CHECK(column.codes<std::uint16_t>().empty());
  livebuf::column texts = column.texts();
  CHECK(texts && texts.size() == 3 && texts[1].value_or("") == "closed for good");
  for (std::size_t row = 0; row < column.size(); row++) {
    CHECK(texts[codes[row]].value_or("") == column[row].value_or("-"));
  }

  std::string json = "[";
  for (int row = 0; row < 1200; row++) {
    json += (row ? "," : "") + std::string("{\"id\":") + std::to_string(row) +
            ",\"name\":\"the name " + std::to_string(row % 300) + "\"}";
  }
  auto rows = livebuf::document::from_json(json + "]");
  livebuf::column names = rows.root().column("/name");
  CHECK(names.type() == LIVEBUF_COLUMN_DICTIONARY_U16 && names.texts().size() == 300);
  livebuf::span<std::uint16_t> wide = names.codes<std::uint16_t>();
  CHECK(wide.size() == 1200 && wide[299] == 299 && wide[300] == 0);
  CHECK(names.texts()[wide[1199]].value_or("") == "the name 299");
  CHECK(names.codes<std::uint8_t>().empty());

  auto gap = livebuf::document::from_json(
      R"(["open","closed for good",null,"open","closed for good","open","open","open"])");
  livebuf::column gaps = gap.root().column("");
  CHECK(gaps.type() == LIVEBUF_COLUMN_DICTIONARY_U8 && gaps.codes<std::uint8_t>().empty());
  CHECK(gaps.texts().size() == 2);
}

/// The texts and offsets of runs: of an array with a null, of an array in an array, whose texts
/// begin behind those of the one before, and of a table with offsets of two bytes.
static void runs() {
  auto names = livebuf::document::from_json(
      R"(["Ada","Bo",null,"","Cy","Dora","Eve","Fay","Gus","Hal","Ian","Jo","Kim","Liz"])");
  livebuf::column column = names.root().column("");
  CHECK(column.type() == LIVEBUF_COLUMN_TEXT_RUN && column.size() == 14);
  livebuf::run run = column.run();
  CHECK(run && run.size() == 14 && run.bytes() == "AdaBoCyDoraEveFayGusHalIanJoKimLiz");
  const std::uint8_t expected[] = {0, 3, 5, 5, 5, 7, 11, 14, 17, 20, 23, 26, 28, 31, 34};
  livebuf::span<std::uint8_t> offsets = run.offsets<std::uint8_t>();
  CHECK(offsets.size() == 15 && std::equal(offsets.begin(), offsets.end(), expected));
  CHECK(run.offsets<std::uint16_t>().empty() && run.offsets<std::uint32_t>().empty());
  CHECK(run[0] == "Ada" && run[2].empty() && run[4] == "Cy" && run[7] == "Fay");
  CHECK(run[14].empty() && run[static_cast<std::size_t>(-1)].empty());
  CHECK(run.get()->width == 1 && column.slice<std::uint8_t>().empty() && !column.texts());
  CHECK(column.codes<std::uint8_t>().empty());

  auto ids = livebuf::document::from_json(
      R"(["id 00001",null,"id 00002","id 00003","id 00004","id 00005","id 00006","id 00007","id 00008"])");
  livebuf::column fixed = ids.root().column("");
  livebuf::run same = fixed.run();
  CHECK(same && same.size() == 9 && same.get()->width == 0 && same.offsets<std::uint8_t>().empty());
  CHECK(same[0] == "id 00001" && same[1] == std::string_view("\0\0\0\0\0\0\0", 8));
  CHECK(same[8] == "id 00008" && same[9].empty());

  auto lists = livebuf::document::from_json(
      R"([["Ada","Bo","Cy"],["Dora","Eve"],)"
      R"(["Fay","Gus","Hal","Ian","Jo","Kim","Liz","Mo","Ned"],[]])");
  livebuf::run second = lists.root()[1].column("").run();
  CHECK(second.size() == 2 && second.offsets<std::uint8_t>()[0] == 7);
  CHECK(second[0] == "Dora" && second[1] == "Eve" && second[2].empty());
  livebuf::run none = lists.root()[3].column("").run();
  CHECK(none && none.size() == 0 && none[0].empty());

  std::string json = "[";
  for (int row = 0; row < 100; row++) {
    json += (row ? "," : "") + std::string("{\"id\":") + std::to_string(row) +
            ",\"name\":\"a name, " + std::to_string(row) + "\"}";
  }
  auto rows = livebuf::document::from_json(json + "]");
  livebuf::column wide = rows.root().column("/name");
  CHECK(wide.type() == LIVEBUF_COLUMN_TEXT_RUN);
  CHECK(wide.run().offsets<std::uint16_t>().size() == 101);
  for (std::size_t row = 0; row < wide.size(); row++) {
    CHECK(wide.run()[row] == wide[row].value_or("-"));
  }

  CHECK(!rows.root().column("/id").run() && !livebuf::column().run());
  CHECK(!livebuf::run() && livebuf::run().size() == 0 && livebuf::run()[0].empty());
}

/// `value::error` of a number that was read as text says that there is no error; `read` tells
/// the reason, and leaves the variable as it was.
static void checked() {
  auto doc = livebuf::document::from_json(R"({"half":0.5,"list":[1,"two"],"big":300})");
  const auto &view = doc;
  std::string text = "as it was";
  CHECK(view["half"].read(text) == livebuf::status(LIVEBUF_WRONG_TYPE) && text == "as it was");
  CHECK(view["no"].read(text) == livebuf::status(LIVEBUF_NOT_FOUND) && text == "as it was");
  CHECK(view["list"][1].read(text) && text == "two");
  double half = 7;
  CHECK(view["half"].read(half) && half == 0.5);
  std::uint8_t small = 7;
  CHECK(view["big"].read(small) == livebuf::status(LIVEBUF_WRONG_TYPE) && small == 7);
  std::vector<int> list = {7};
  CHECK(view["list"].read(list) == livebuf::status(LIVEBUF_WRONG_TYPE) && list.size() == 1);
  livebuf::value stale = view["list"][1];
  doc["half"] = 1;
  CHECK(stale.read(text) == livebuf::status(LIVEBUF_STALE_HANDLE) && text == "two");
  CHECK(livebuf::text(stale.error()) == "the handle is stale");
  livebuf_error error;
  CHECK(!livebuf::document::from_json("[1,\n 2", &error));
  CHECK(livebuf::text(error) ==
        "the JSON text ends inside a value, or holds none, at line 2, column 3 (byte 6)");
  CHECK(livebuf::document::with_capacity(4096).raw()->capacity == 4096);
}

static void editing() {
  livebuf::document doc;
  doc.at_root() = livebuf::object(2);
  doc["name"] = "Ada";
  doc["list"] = livebuf::array();
  CHECK(doc["list"].push(1) && doc["list"].push("two") && doc["list"].push(livebuf::null));
  CHECK(doc["list"].insert(0, 0.5));
  doc["list"][1] = 10u;
  doc["child"] = livebuf::object();
  doc["child"]["deep"] = true;
  CHECK(doc.set("/child/text", std::string("text")));
  CHECK(doc.set("/child/nothing", nullptr));
  CHECK(doc.json() == R"({"name":"Ada","list":[0.5,10,"two",null],)"
                      R"("child":{"deep":true,"text":"text","nothing":null}})");
  CHECK(doc["list"][3].remove() && doc.remove("/child/nothing"));
  CHECK(doc.remove("/child/nothing") == livebuf::status(LIVEBUF_NOT_FOUND));
  livebuf::value stale = doc.root();
  doc["name"] = "Grace";
  CHECK(!stale["name"] && stale.error().status == LIVEBUF_STALE_HANDLE);
  livebuf::document copy = doc.copy();
  CHECK(livebuf_is_trusted(copy.raw()) && copy.validate() && copy.json() == doc.json());
  livebuf::document rows = livebuf::document::from_json(R"([{"n":1},{"n":2}])").copy();
  rows[1]["name"] = "somebody new"; /* was refused: the copy had lost its trust */
  CHECK(rows.json() == R"([{"n":1},{"n":2,"name":"somebody new"}])");
  CHECK(copy["list"].clear() && copy["list"].get().size() == 0);
  copy["other"] = doc["child"].get();
  CHECK(copy["other"]["text"].value_or("") == "text");
  CHECK(copy.compact());
  livebuf::document moved = std::move(copy);
  CHECK(moved && !copy && copy.json().empty() && copy.size() == 0);
  CHECK(!copy.set("/a", 1));
}

/// Dates, times, decimals and UUIDs as values, in columns and in structs. std::chrono::sys_days
/// is a date in C++20.
static void extended() {
  using std::chrono::microseconds;
  const livebuf::date due{livebuf::date::duration(20780)};
  const livebuf::timestamp at{microseconds(1795422600000000)};
  const livebuf::time_of_day start{microseconds(30600250000)};
  const livebuf::date_time local{microseconds(-1)};
  livebuf::uuid id;
  for (std::size_t i = 0; i < 16; i++) id.bytes[i] = static_cast<std::uint8_t>(17 * i);
  livebuf::document doc;
  doc.at_root() = livebuf::object(8);
  CHECK(doc["due"].set(due) && doc["at"].set(at) && doc["start"].set(start));
  CHECK(doc["local"].set(local) && doc["price"].set(livebuf::decimal(-1990, 2)));
  CHECK(doc["id"].set(id) && doc["big"].set(livebuf::extended("123456789012345678901.5")));
  const auto &view = doc;
  CHECK(doc.json() ==
        R"({"due":"2026-11-23","at":"2026-11-23T08:30:00Z","start":"08:30:00.250",)"
        R"("local":"1969-12-31T23:59:59.999999","price":-19.90,)"
        R"("id":"00112233-4455-6677-8899-aabbccddeeff","big":123456789012345678901.5})");
  CHECK(view["due"].get<livebuf::date>() == due && !view["at"].get<livebuf::date>());
  CHECK(view["at"].get<livebuf::timestamp>() == at && !view["local"].get<livebuf::timestamp>());
  CHECK(view["start"].get<livebuf::time_of_day>() == start);
  CHECK(view["local"].value_or(livebuf::date_time()) == local);
  CHECK(view["start"].value_or(livebuf::date_time()) != local);
  CHECK(view["price"].get<livebuf::decimal>() == livebuf::decimal(-1990, 2));
  CHECK(view["price"].get<livebuf::decimal>() != livebuf::decimal(-199, 1));
  CHECK(view["id"].get<livebuf::uuid>() == id && !view["id"].get<std::string>());
  CHECK(view["big"].extended_text() == "123456789012345678901.5");
  CHECK(view["no"].extended_text().empty() && view["due"].kind() == LIVEBUF_KIND_DATE);
  livebuf::decimal big;
  CHECK(view["big"].read(big) && big.raw.high > 0 && big.raw.scale == 1);
  CHECK(view["due"].read(big) == livebuf::status(LIVEBUF_WRONG_TYPE) && big.raw.scale == 1);
  CHECK(doc["big"].set(livebuf::decimal(big.raw)) && doc["big"].get().extended_text().size() == 23);
  CHECK(view["none"].get<std::optional<livebuf::uuid>>().has_value());
#if __cplusplus >= 202002L
  using namespace std::chrono;
  CHECK(view["due"].get<sys_days>() == sys_days(2026y / November / 23));
  CHECK(doc["due"].set(sys_days(2026y / November / 24)));
  CHECK(view["due"].extended_text() == "2026-11-24");
  CHECK(view["at"].get<sys_time<microseconds>>() == at);
#endif
  const livebuf::status bad(LIVEBUF_BAD_VALUE);
  CHECK(doc["x"].set(livebuf::extended("2026-02-29")) == bad);
  CHECK(doc["x"].set(livebuf::extended({})) == bad && doc["x"].set(livebuf::decimal(1, 39)) == bad);
  CHECK(doc["x"].set(livebuf::date::max()) == bad && doc["x"].set(livebuf::timestamp::min()) == bad);
  CHECK(doc["x"].set(livebuf::time_of_day{microseconds(-1)}) == bad && !view["x"]);

  std::vector<livebuf::uuid> ids(3, id);
  ids[1].bytes[0] = 0xFF;
  CHECK(doc["ids"].set(ids) && view["ids"].get<std::vector<livebuf::uuid>>() == ids);
  livebuf::span<livebuf::uuid> lent = view["ids"].column<livebuf::uuid>("");
  CHECK(lent.size() == 3 && lent[1] == ids[1] && view["ids"].column("").find(ids[1]) == 1u);
  CHECK(view["ids"].column<std::uint8_t>("").empty());
  CHECK(doc["days"].set(std::vector<livebuf::date>{due, due}));
  livebuf::column days = view["days"].column("");
  CHECK(days.type() == LIVEBUF_COLUMN_DATE && days.find(due) == 0u && !days.find(at));
  CHECK(days.slice<std::int32_t>().size() == 2 && days.slice<std::int32_t>()[1] == 20780);
  CHECK(days.slice<std::int64_t>().empty() && days.copy<std::int64_t>()[1] == 20780);
  CHECK(doc["moments"].set(std::vector<livebuf::timestamp>{at, at}));
  CHECK(view["moments"].column<std::int64_t>("")[1] == at.time_since_epoch().count());
  CHECK(view["moments"].column<std::int32_t>("").empty());

  livebuf_json_options options = {};
  options.flags = LIVEBUF_JSON_RECOGNIZE;
  const char *text = R"(["2026-11-23","2026-11-23?","19.90"])";
  auto read = livebuf::document::from_json(text, nullptr, &options);
  CHECK(read.root()[0].get<livebuf::date>() == due && read.root()[1].is_string());
  CHECK(read.root()[2].is_string() && read.json() == text);
  livebuf::prepared lap(doc.root(), {"/due"});
  std::vector<std::uint8_t> message;
  CHECK(lap.stamp_into(message, due) && lap.stamp_into(message, livebuf::decimal(1, 2)));
}

/// Tensors from pointers and vectors, as values and in structs; what is none is refused.
struct Layer {
  std::string name;
  livebuf::tensor weights;
};

inline auto livebuf_fields(const Layer *) {
  return livebuf::fields(livebuf::field("name", &Layer::name),
                         livebuf::field("weights", &Layer::weights));
}

static void tensors() {
  const std::vector<float> weights = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
  const std::uint8_t pixels[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3};
  const std::vector<std::uint16_t> halves = {0x3C00, 0x3E00, 0xC000, 0x2E66};
  const std::vector<std::uint8_t> bools = {1, 0, 0, 1};
  livebuf::document doc;
  doc.at_root() = livebuf::object(4);
  doc["weights"] = livebuf::tensor(weights, {2, 3});
  doc["image"] = livebuf::tensor(pixels, {2, 2, 3});
  doc["halves"] = livebuf::tensor(halves, {4}, LIVEBUF_COLUMN_F16);
  doc["bools"] = livebuf::tensor(bools, std::vector<int>{2, 2}, LIVEBUF_COLUMN_BOOL8);
  doc["list"] = livebuf::array();
  CHECK(doc["list"].push(livebuf::tensor(halves, {2, 2})));
  CHECK(doc.json() == R"({"weights":[[0.5,1.5,2.5],[3.5,4.5,5.5]],)"
                      R"("image":[[[255,0,0],[0,255,0]],[[0,0,255],[1,2,3]]],"halves":[1.0,1.5,-2.0,)"
                      R"(0.0999755859375],"bools":[[true,false],[false,true]],)"
                      R"("list":[[[15360,15872],[49152,11878]]]})");
  const auto &view = doc;
  auto found = view["weights"].get<livebuf::tensor>();
  CHECK(found && found->type() == LIVEBUF_COLUMN_F32 && found->size() == 6);
  CHECK(found->shape().size() == 2 && found->shape()[0] == 2 && found->shape()[1] == 3);
  CHECK(found->bytes().size() == 24 && found->get()->dimensions == 2);
  const float *numbers = found->data<float>();
  CHECK(numbers && std::equal(weights.begin(), weights.end(), numbers));
  CHECK(!found->data<double>() && !found->data<std::int32_t>() && !found->data<std::uint8_t>());
  livebuf::tensor part;
  CHECK(view["image"][1].read(part) && part.size() == 6 && part.shape()[1] == 3);
  CHECK(part.data<std::uint8_t>() && part.data<std::uint8_t>()[3] == 1);
  CHECK(view["halves"].read(part) && part.type() == LIVEBUF_COLUMN_F16);
  CHECK(part.data<std::uint16_t>() && part.data<std::uint16_t>()[2] == 0xC000);
  CHECK(!part.data<std::int16_t>() && !part.data<float>());
  CHECK(view["bools"].read(part) && part.type() == LIVEBUF_COLUMN_BOOL8);
  CHECK(part.data<std::uint8_t>() && part.data<std::uint8_t>()[3] == 1);
  CHECK(view["list"][0].read(part) && part.type() == LIVEBUF_COLUMN_U16);
  CHECK(view["list"].read(part) == livebuf::status(LIVEBUF_WRONG_TYPE) && part.size() == 4);
  CHECK(view["no"].read(part) == livebuf::status(LIVEBUF_NOT_FOUND));
  CHECK(!view["no"].get<livebuf::tensor>() && view["weights"][0][1].value_or(0.0) == 1.5);
  CHECK(view["weights"].get<std::vector<std::vector<double>>>()->at(1)[2] == 5.5);

  // Numbers are set, and what was lent is stale.
  doc["weights"][1][0] = 0.1;
  doc["bools"][0][1] = true;
  CHECK(view["weights"].read(part) && part.data<float>()[3] == 0.1f);
  const livebuf::status mismatch(LIVEBUF_TENSOR_MISMATCH);
  CHECK(doc["weights"][1][0].set("text") == mismatch && doc["weights"].push(1.0) == mismatch);
  CHECK(doc["weights"][1][0].remove() == mismatch && doc["bools"][0][0].set(1) == mismatch);
  const std::vector<float> more = {6.5f, 7.5f, 8.5f};
  CHECK(doc["weights"].push(livebuf::tensor(more, {3})) && view["weights"].size() == 3);
  CHECK(view["weights"][2][1].value_or(0.0) == 7.5 && doc["weights"][2].remove());
  CHECK(doc.compact() && view["weights"].read(part) && part.data<float>()[3] == 0.1f);
  // By column.
  livebuf::span<std::uint16_t> bits = view["halves"].column<std::uint16_t>("");
  CHECK(bits.size() == 4 && bits[1] == 0x3E00 && view["halves"].column<std::int16_t>("").empty());
  livebuf::span<std::uint8_t> row = view["bools"][0].column<std::uint8_t>("");
  CHECK(row.size() == 2 && row[1] == 1 && view["bools"][0].column("").find(true) == 0u);
  CHECK(view["weights"][1].column<float>("")[0] == 0.1f);
  CHECK(view["weights"].column("").tensor()->size() == 6 && !view["list"].column("").tensor());

  // What is none.
  CHECK(doc["x"].set(livebuf::tensor()) == mismatch && livebuf::tensor().size() == 0);
  CHECK(doc["x"].set(livebuf::tensor(weights, {2, 2})) == mismatch);
  CHECK(doc["x"].set(livebuf::tensor(weights, {3, 0})) == mismatch);
  CHECK(doc["x"].set(livebuf::tensor(weights, {6}, LIVEBUF_COLUMN_I32)) == mismatch);
  CHECK(doc["x"].set(livebuf::tensor(halves, {4}, LIVEBUF_COLUMN_BOOL8)) == mismatch);
  CHECK(doc["x"].set(livebuf::tensor(std::vector<std::uint8_t>{2}, {1}, LIVEBUF_COLUMN_BOOL8)) ==
        mismatch);
  CHECK(doc["x"].set(livebuf::tensor(weights, std::vector<int>(17, 1))) == mismatch);
  CHECK(doc["x"].set(livebuf::tensor(weights, std::vector<int>{-2, -3})) == mismatch);
  CHECK(!view["x"] && livebuf::tensor(weights, std::vector<int>(17, 1)).shape().size() == 16);
  CHECK(doc["x"].set(livebuf::tensor(static_cast<const double *>(nullptr), {0, 3})));
  CHECK(view["x"].read(part) && part.size() == 0 && part.shape()[1] == 3 && part.data<double>());
  CHECK(doc["x"].set(*view["image"].get<livebuf::tensor>()) == livebuf::status(LIVEBUF_OVERLAP));

  livebuf::document other;
  CHECK(other.at_root().set(Layer{"first", *view["weights"].get<livebuf::tensor>()}));
  auto layer = other.root().get<Layer>();
  CHECK(layer && layer->name == "first" && layer->weights.data<float>()[3] == 0.1f);
  CHECK(!other.root()["name"].get<Layer>() && other.validate());
}

static void structs() {
  Lap lap;
  lap.event = "lap_complete";
  lap.lap = 55;
  lap.time = 88.427;
  lap.valid = true;
  lap.tyres = {{"front", 3}, {"rear", 4}};
  lap.sectors = {{"one", 30.5}, {"two", 29.25}};
  lap.grid = {3, 4};
  livebuf::document doc;
  CHECK(doc.set("", lap));
  CHECK(doc.json() ==
        R"({"event":"lap_complete","lap":55,"time":88.427,"valid":true,"note":null,)"
        R"("tyres":[{"name":"front","wear":3},{"name":"rear","wear":4}],)"
        R"("sectors":{"one":30.5,"two":29.25},"grid":[3,4]})");
  auto back = doc.root().get<Lap>();
  CHECK(back && back->event == lap.event && back->lap == 55 && back->time == lap.time);
  CHECK(back && !back->note && back->tyres.size() == 2 && back->tyres[1].wear == 4);
  CHECK(back && back->sectors == lap.sectors && back->grid == lap.grid);
  doc["tyres"][1]["wear"] = "worn";
  CHECK(!doc.root().get<Lap>());
}

static void memory() {
  char bytes[512];
  livebuf::buffer doc(bytes, sizeof bytes);
  CHECK(doc);
  doc.at_root() = livebuf::object(3);
  doc["lap"] = 55;
  doc["note"] = "in memory of ours";
  livebuf::buffer view(doc.bytes());
  CHECK(view && view.root()["lap"].value_or(0) == 55);
  char scratch[128];
  CHECK(view.validate(scratch, sizeof scratch));
  CHECK(doc.set("/big", std::string(1000, 'x')) == livebuf::status(LIVEBUF_NO_SPACE));
  CHECK(doc.error().detail > 0);
  char small[8];
  CHECK(!livebuf::buffer(small, sizeof small));
}

static void messages() {
  char bytes[4096];
  livebuf::buffer example(bytes, sizeof bytes);
  example.at_root() = livebuf::object(3);
  example["event"] = livebuf::null;
  example["lap"] = 0;
  example["driver"] = std::string(2000, 'd');
  livebuf::prepared made(example.root(), {"/event", "/lap"});
  livebuf::prepared lap(std::move(made));
  CHECK(lap && lap.size() == 2);

  std::vector<std::uint8_t> message;
  std::string event(300, 'e');
  CHECK(lap.stamp_into(message, event, 55));
  livebuf::buffer view(livebuf::bytes_view(message.data(), message.size()));
  CHECK(view.root()["event"].value_or("") == event && view.root()["lap"].value_or(0) == 55);
  CHECK(view.root()["driver"].size() == 2000);
  const std::uint8_t *before = message.data();
  std::size_t longer = message.size();
  CHECK(lap.stamp_into(message, "lap_complete", livebuf::null));
  CHECK(message.data() == before && message.size() < longer);

  char out[4096];
  std::size_t length = 0;
  CHECK(lap.stamp(out, 64, length, event, 1.5) == livebuf::status(LIVEBUF_NO_SPACE));
  CHECK(length == longer && lap.stamp(out, length, length, event, 1.5));
  CHECK(lap.stamp(out, sizeof out, length, 1) == livebuf::status(LIVEBUF_INDEX_OUT_OF_RANGE));
  CHECK(!lap.stamp_into(message, "\xFF", 1) && message.empty());

  livebuf::prepared wrong(example.root(), {"/event", "/lop"});
  CHECK(!wrong && wrong.error().status == LIVEBUF_NOT_FOUND && wrong.error().detail == 1);
}

#if LIVEBUF_EXCEPTIONS
template <class Call>
static livebuf_status thrown(Call call) {
  try {
    call();
  } catch (const livebuf::exception &error) {
    return error.error().status;
  }
  return LIVEBUF_OK;
}

template <class Call>
static std::string message(Call call) {
  try {
    call();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

static void exceptions() {
  CHECK(message([] { livebuf::document::parse("{\n,"); }) ==
        "the text is not JSON, at line 2, column 1 (byte 2)");
  CHECK(message([] { livebuf::check(LIVEBUF_NO_SPACE); }) == "the buffer is too small");
  CHECK(thrown([] { livebuf::document::parse("{"); }) == LIVEBUF_JSON_END);
  auto doc = livebuf::document::parse(R"({"a":1,"b":[true]})");
  CHECK(doc.root()["a"].as<int>() == 1 && doc["b"][0].as<bool>());
  CHECK(thrown([&] { doc.root()["a"].as<std::string>(); }) == LIVEBUF_WRONG_TYPE);
  CHECK(thrown([&] { doc.root()["c"].as<int>(); }) == LIVEBUF_NOT_FOUND);
  CHECK(thrown([&] { doc["a"]["b"] = 1; }) == LIVEBUF_STALE_HANDLE);
  CHECK(thrown([&] { doc["b"][7] = 1; }) == LIVEBUF_INDEX_OUT_OF_RANGE);
  CHECK(thrown([&] { livebuf::check(doc.set("b", 1)); }) == LIVEBUF_BAD_POINTER);
}
#endif

static bool same(const livebuf::document &one, const livebuf::document &two) {
  return one.size() == two.size() && !std::memcmp(one.bytes().data(), two.bytes().data(), one.size());
}

static void changes() {
  livebuf::document doc = livebuf::document::from_json(
      R"({"laps":[{"by":"Ada","sec":88.5},{"by":"Alan","sec":-1.0}],"lap":2})");
  CHECK(!doc.state() && doc.set_state() && doc.state());
  livebuf::document copy = doc.copy();
  std::vector<std::uint8_t> delta, back;
  {
    livebuf::delta_recording recording(doc, LIVEBUF_DELTA_OLD | LIVEBUF_DELTA_DIGEST);
    doc["lap"] = 3;
    delta = recording.end();
    CHECK(!recording && !delta.empty());
  }
  {
    livebuf::delta_recording forgotten(doc);
    CHECK(forgotten);
  }
  CHECK(copy.apply({delta.data(), delta.size()}, true) && same(copy, doc));
  CHECK(copy.apply({delta.data(), delta.size()}) == livebuf::status(LIVEBUF_WRONG_STATE));
  back = livebuf::invert({delta.data(), delta.size()});
  CHECK(copy.apply({back.data(), back.size()}) && copy["lap"].get().value_or(0) == 2);
  CHECK(!livebuf::compose({delta.data(), delta.size()}, {back.data(), back.size()}).empty());
  livebuf_error error;
  CHECK(livebuf::compose({delta.data(), delta.size()}, {}, &error).empty());
  CHECK(error.status == LIVEBUF_NULL_ARGUMENT);

  CHECK(copy.validate() && copy.patch(R"([{"op":"replace","path":"/lap","value":4}])"));
  CHECK(!copy.patch(R"([{"op":"remove","path":"/none"}])") && copy.error().operation == 1);
  livebuf::document patch = livebuf::diff(doc.root(), copy.root());
  CHECK(patch.json() == R"([{"op":"replace","path":"/lap","value":4}])");
  CHECK(doc.patch(patch.root()) && livebuf::diff(doc.root(), copy.root(), true).json() == "[]");
  CHECK(doc.merge(R"({"lap":null})") && doc["lap"].get().kind() == LIVEBUF_KIND_NONE);
  livebuf::document merging = livebuf::merge_diff(copy.root(), doc.root());
  CHECK(merging.json() == R"({"lap":null})" && copy.merge(merging.root()));

  {
    livebuf::history history(doc);
    CHECK(history && history.undo() == livebuf::status(LIVEBUF_NOT_FOUND));
    livebuf::document follower = doc.copy();
    doc["note"] = "pit";
    CHECK(history.step() && history.undo_count() == 1 && history.redo_count() == 0);
    delta = history.delta();
    CHECK(follower.apply({delta.data(), delta.size()}) && same(follower, doc));
    CHECK(history.undo() && history.redo_count() == 1 && !doc["note"].get().exists());
    CHECK(history.redo() && doc["note"].get().value_or(std::string_view()) == "pit");
    CHECK(history.undo());
  }

  livebuf::query secs("$.laps[*].sec");
  std::string places;
  for (livebuf::match found : secs.find(doc.root())) {
    places += found.path() + "=" + found.value().json() + found.pointer() + ";";
  }
  CHECK(places == "$['laps'][0]['sec']=88.5/laps/0/sec;$['laps'][1]['sec']=-1.0/laps/1/sec;");
  CHECK(secs.first(doc.root()).value_or(0.0) == 88.5 && secs.count(doc.root()) == 2u);
  std::size_t count;
  CHECK(secs.update_all(doc, [](livebuf::value sec) -> std::optional<double> {
    double seconds = sec.value_or(0.0);
    return seconds < 0 ? std::nullopt : std::optional<double>(seconds * 2);
  }, &count) && count == 1);
  CHECK(livebuf::query("$.laps[?@.sec < 0].sec").set_all(doc, nullptr, &count) && count == 1);
  CHECK(livebuf::query("$.laps[?@.sec == null]").remove_all(doc, &count) && count == 1);
  CHECK(livebuf::query("$.laps[*].by").set_all(doc, merging.root()));
  CHECK(doc.json() == R"({"laps":[{"by":{"lap":null},"sec":177.0}]})");
#if LIVEBUF_EXCEPTIONS
  try {
    (void)secs.update_all(doc, [](livebuf::value) -> std::optional<int> { throw 7; });
    CHECK(false);
  } catch (int thrown) {
    CHECK(thrown == 7 && doc["laps"][0]["sec"].get().value_or(0.0) == 177.0);
  }
  try {
    livebuf::query wrong("$.laps[");
    CHECK(false);
  } catch (const livebuf::exception &wrong) {
    CHECK(wrong.error().column == 8);
  }
  livebuf::document stateless;
  try {
    livebuf::delta_recording recording(stateless);
    CHECK(false);
  } catch (const livebuf::exception &wrong) {
    CHECK(wrong.error().status == LIVEBUF_NO_STATE);
  }
#else
  livebuf::query wrong("$.laps[");
  CHECK(!wrong && wrong.error().column == 8 && !wrong.count(doc.root()));
  for (livebuf::match found : wrong.find(doc.root())) CHECK(!found.value().exists());
#endif
}

static void transactions() {
  auto doc = livebuf::document::from_json(R"({"from":10,"to":0})");
  std::string before(reinterpret_cast<const char *>(doc.bytes().data()), doc.size());
  const auto same = [&] {
    return doc.size() == before.size() && !std::memcmp(doc.bytes().data(), before.data(), doc.size());
  };
  {
    livebuf::transaction batch(doc);
    CHECK(batch);
    CHECK(doc.set("/from", 0) && doc.set("/note", "text that is longer than a cell"));
  }
  CHECK(same());
  {
    livebuf::transaction batch(doc);
    CHECK(doc.set("/from", 0));
    {
      livebuf::transaction savepoint(doc);
      CHECK(doc.remove("/to"));
    }
    {
      livebuf::transaction savepoint(doc);
      CHECK(doc.set("/to", 10));
      CHECK(savepoint.commit() && !savepoint);
      CHECK(savepoint.commit().code() == LIVEBUF_BAD_SEQUENCE);
    }
    CHECK(batch.commit());
    CHECK(batch.rollback().code() == LIVEBUF_BAD_SEQUENCE);
  }
  CHECK(doc.json() == R"({"from":0,"to":10})" && livebuf_transactions(doc.handle()) == 0);

  std::uint8_t memory[512];
  livebuf::buffer small(memory, sizeof memory);
  CHECK(small.set("", livebuf::object{2}) && small.set("/lap", 55));
  std::vector<std::uint8_t> copy(small.bytes().data(), small.bytes().data() + small.size());
  {
    livebuf::recording changes(small, 4);
    CHECK(changes && small.set("/lap", 56) && small.set("/event", "a text longer than a cell"));
    const std::vector<livebuf_changed> &ranges = changes.end();
    CHECK(!ranges.empty() && ranges.size() <= 4 && changes.length() == small.size());
    copy.resize(changes.length());
    for (livebuf_changed range : ranges)
      std::memcpy(copy.data() + range.offset, small.bytes().data() + range.offset, range.length);
    CHECK(!std::memcmp(copy.data(), small.bytes().data(), small.size()));
    CHECK(small.set("/lap", 57) && changes.end().size() == ranges.size());
  }
#if LIVEBUF_EXCEPTIONS
  before.assign(reinterpret_cast<const char *>(doc.bytes().data()), doc.size());
  CHECK(thrown([&] {
          livebuf::transaction batch(doc);
          livebuf::transaction savepoint(doc);
          doc["to"] = 11;
          livebuf::check(savepoint.commit());
          doc["to"]["no object"] = 1;
          livebuf::check(batch.commit());
        }) == LIVEBUF_STALE_HANDLE);
  CHECK(same() && livebuf_transactions(doc.handle()) == 0);
  livebuf::buffer reader(livebuf::bytes_view(doc.bytes()));
  CHECK(thrown([&] { livebuf::transaction batch(reader); }) == LIVEBUF_READ_ONLY);
  CHECK(thrown([&] { livebuf::recording changes(reader); }) == LIVEBUF_READ_ONLY);
#else
  livebuf::buffer reader(livebuf::bytes_view(doc.bytes()));
  livebuf::transaction batch(reader);
  livebuf::recording changes(reader);
  CHECK(!batch && !changes && !batch.commit());
#endif
}

int main() {
  reading();
  dictionaries();
  runs();
  checked();
  editing();
  extended();
  tensors();
  structs();
  memory();
  messages();
  transactions();
  changes();
#if LIVEBUF_EXCEPTIONS
  exceptions();
#endif
  return done(LIVEBUF_EXCEPTIONS ? "c++" : "c++ without exceptions");
}
