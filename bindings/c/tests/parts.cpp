// What the blocks of docs/c-api.md need before them.
#include <cstdio>
#include <iostream>
#include <livebuf.hpp>
#include <vector>

#define OWNED BUFFER
#define BUFFER \
  auto doc = livebuf::document::parse(R"({"laps": [{"lap": 1, "sec": 87.5}], "alice": 9, "bob": 1})");

static const std::uint8_t mask[480 * 640] = {};

