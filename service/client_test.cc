// The client: what it refuses, what its cache keeps, and that one executable serves many threads.
#include "service/client.h"

#include <atomic>
#include <future>
#include <new>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

std::unique_ptr<HloModule> Parse(const std::string& text) {
  auto module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

// y = x * factor for 4 floats; `name` does not matter to the cache.
std::unique_ptr<HloModule> Scale(const std::string& name, int factor) {
  return Parse("HloModule " + name + "\nENTRY e { p = f32[4] parameter(0) k = f32[] constant(" +
               std::to_string(factor) + ") b = f32[4] broadcast(k), dimensions={} ROOT m = f32[4] multiply(p, b) }");
}

Literal FourFloats(float first) {
  Literal literal(Shape(ElementType::kF32, {4}));
  for (int i = 0; i < 4; ++i) literal.mutable_data<float>()[i] = first + static_cast<float>(i);
  return literal;
}

TEST(Client, CompilesOnceForEqualModules) {
  for (const char* platform : {"cpu", "interpreter"}) {
    Client client;
    auto first = client.Compile(Scale("a", 3), platform);
    ASSERT_TRUE(first.ok()) << first.status();
    auto again = client.Compile(Scale("b", 3), platform);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(first->get(), again->get());
    ASSERT_TRUE(client.Compile(Scale("a", 4), platform).ok());
    EXPECT_EQ(client.cache().stats().misses, 2);
    EXPECT_EQ(client.cache().stats().hits, 1);
    EXPECT_EQ(client.cache().stats().entries, 2);
    client.cache().Clear();
    EXPECT_EQ(client.cache().stats().entries, 0);
    // What is in use lives on.
    const Literal input = FourFloats(1);
    const Literal* inputs[] = {&input};
    auto results = RunOnLiterals(**first, inputs);
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(results->at(0).data<float>()[3], 12);
  }
}

TEST(Client, BudgetEvictsTheOldest) {
  Client client(1);
  ASSERT_TRUE(client.Compile(Scale("a", 3), "interpreter").ok());
  ASSERT_TRUE(client.Compile(Scale("a", 4), "interpreter").ok());
  EXPECT_LE(client.cache().stats().entries, 1);
  EXPECT_GE(client.cache().stats().evictions, 1);
}

TEST(Client, MemoryThatRunsOutIsTheErrorOfAllThatWait) {
  ExecutableCache cache(1 << 20);
  std::promise<void> begun;
  std::thread waiting;
  absl::StatusOr<std::shared_ptr<const Executable>> waited;
  const auto first = cache.GetOrCompile("key", [&]() -> absl::StatusOr<std::shared_ptr<const Executable>> {
    waiting = std::thread([&] {
      begun.set_value();
      waited = cache.GetOrCompile("key", [] { return absl::InternalError("its own"); });
    });
    begun.get_future().wait();
    while (cache.stats().waits == 0) std::this_thread::yield();
    throw std::bad_alloc();
  });
  waiting.join();
  EXPECT_EQ(first.status(), absl::ResourceExhaustedError("out of memory"));
  EXPECT_EQ(waited.status(), absl::InternalError("its own"));  // it tried by itself
  EXPECT_EQ(cache.stats().entries, 0);
}

TEST(Client, ConcurrentRequestsAndRunsAgree) {
  Client client;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&client, &wrong, t] {
      for (int n = 0; n < 20; ++n) {
        const int factor = 1 + (t + n) % 3;
        auto executable = client.Compile(Scale("m", factor), "cpu");
        if (!executable.ok()) {
          ++wrong;
          continue;
        }
        const Literal input = FourFloats(static_cast<float>(t));
        const Literal* inputs[] = {&input};
        auto results = RunOnLiterals(**executable, inputs);
        wrong += !results.ok() || results->at(0).data<float>()[2] != static_cast<float>(factor * (t + 2));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(client.cache().stats().misses, 3);
}

TEST(Client, ADeadlineIsTheRequestsOwn) {
  ExecutableCache cache(1 << 20);
  std::atomic<bool> begun = false;
  std::promise<void> go_on;
  std::thread slow([&] {
    auto late = cache.GetOrCompile("key", [&]() -> absl::StatusOr<std::shared_ptr<const Executable>> {
      begun = true;
      go_on.get_future().wait();
      return absl::DeadlineExceededError("too late");
    });
    EXPECT_EQ(late.status().message(), "too late");
  });
  while (!begun) std::this_thread::yield();
  const auto never = []() -> absl::StatusOr<std::shared_ptr<const Executable>> {
    return absl::InternalError("not asked for");
  };
  const auto waited = cache.GetOrCompile("key", never, absl::Now() + absl::Milliseconds(1));
  EXPECT_EQ(waited.status().code(), absl::StatusCode::kDeadlineExceeded);
  // A request with time left compiles for itself once the first has given up.
  std::thread patient([&] {
    auto own = cache.GetOrCompile("key", []() -> absl::StatusOr<std::shared_ptr<const Executable>> {
      return absl::UnimplementedError("its own");
    });
    EXPECT_EQ(own.status().message(), "its own");
  });
  while (cache.stats().waits < 2) std::this_thread::yield();
  go_on.set_value();
  slow.join();
  patient.join();
}

TEST(Client, AMemoryLimitIsTheRequestsOwn) {
  // The first product is temporary.
  const auto products = [] {
    return Parse(R"(HloModule m
ENTRY e { p = f32[64,64] parameter(0)
  d = f32[64,64] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[64,64] dot(d, p), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  };
  Client client;
  CompileOptions limited;
  limited.max_memory_bytes = 1000;
  const auto refused = [&] { return client.Compile(products(), "cpu", limited).status(); };
  EXPECT_NE(refused().message().find("bytes of temporary memory; the limit is 1000"), std::string::npos) << refused();
  EXPECT_TRUE(client.Compile(products(), "cpu").ok());
  EXPECT_EQ(client.cache().stats().entries, 1);
  // Not given from the cache either.
  EXPECT_NE(refused().message().find("bytes of temporary memory; the limit is 1000"), std::string::npos) << refused();
}

TEST(Client, ProgramsThatCallersKeepAreLoaded) {
  std::string kept;
  ASSERT_TRUE(Client().Compile(Scale("a", 3), "cpu", {}, &kept).ok());
  ASSERT_FALSE(kept.empty());
  const std::string of_three = kept;
  // Another client, as of another process.
  Client other;
  auto loaded = other.Compile(Scale("b", 3), "cpu", {}, &kept);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE((*loaded)->loaded());
  EXPECT_EQ(kept, of_three);
  const Literal input = FourFloats(1);
  const Literal* inputs[] = {&input};
  auto results = RunOnLiterals(**loaded, inputs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->at(0).data<float>()[3], 12);
  // What the cache has is neither compiled nor loaded, and leaves the bytes alone.
  std::string none;
  ASSERT_TRUE(other.Compile(Scale("c", 3), "cpu", {}, &none).ok());
  EXPECT_TRUE(none.empty());
  // Bytes of another program and damaged ones are not run.
  for (std::string bytes : {of_three, of_three.substr(0, of_three.size() - 1), std::string("garbage")}) {
    Client fresh;
    auto compiled = fresh.Compile(Scale("a", 5), "cpu", {}, &bytes);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_FALSE((*compiled)->loaded());
    auto scaled = RunOnLiterals(**compiled, inputs);
    ASSERT_TRUE(scaled.ok()) << scaled.status();
    EXPECT_EQ(scaled->at(0).data<float>()[3], 20);
    EXPECT_NE(bytes, of_three);
  }
}

TEST(Client, RefusesWithAReason) {
  Client client;
  auto error = [&client](const std::string& text, const CompileOptions& options = {}) {
    auto module = ParseModule(text);
    if (!module.ok()) return std::string(module.status().message());
    return std::string(client.Compile(*std::move(module), "cpu", options).status().message());
  };
  EXPECT_NE(error("HloModule m\nENTRY e { p = f32[?,2] parameter(0) ROOT n = f32[?,2] negate(p) }")
                .find("f32[?,2] has an unknown size (?)"),
            std::string::npos);
  CompileOptions few;
  few.max_instructions = 1;
  EXPECT_NE(error("HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }", few)
                .find("has 2 instructions; the limit is 1"),
            std::string::npos);
  EXPECT_NE(client.Compile(Scale("m", 1), "tpu").status().message().find("tpu"), std::string::npos);
}

TEST(Client, ChecksArguments) {
  Client client;
  auto executable = client.Compile(Scale("m", 2), "interpreter");
  ASSERT_TRUE(executable.ok());
  EXPECT_FALSE(RunOnLiterals(**executable, {}).ok());
  const Literal wrong(Shape(ElementType::kF32, {5}));
  const Literal* inputs[] = {&wrong};
  const absl::Status status = RunOnLiterals(**executable, inputs).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("f32[5]"), std::string::npos) << status;
}

}  // namespace
}  // namespace xc
