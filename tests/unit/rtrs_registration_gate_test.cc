// SPDX-License-Identifier: GPL-2.0
// The gate of registrations on devices that execute local work twice.
#include <rtrs/pure/registration_gate.hh>

#include <deque>
#include <random>

using namespace rtrs;

TEST(RegistrationGate, TwoPassThenAllWait)
{
	RegistrationGate g;
	EXPECT_TRUE(g.is_open());
	EXPECT_EQ(g.pass(), GatePass::Post);
	EXPECT_FALSE(g.is_open());
	EXPECT_EQ(g.pass(), GatePass::PostSignaled);
	EXPECT_EQ(g.pass(), GatePass::Hold);
	EXPECT_EQ(g.pass(), GatePass::Hold);
	// They go, and what comes meanwhile waits for them.
	g.completed(true);
	EXPECT_EQ(g.pass(), GatePass::Hold);
	g.completed(true);
	EXPECT_FALSE(g.is_open());
	g.completed(false);
	EXPECT_TRUE(g.is_open());
	EXPECT_EQ(g.pass(), GatePass::Post);
}

TEST(RegistrationGate, OneAfterAnotherNeedsACompletionForEveryOther)
{
	RegistrationGate g;
	int signaled = 0;
	for (int i = 0; i < 100; i++) {
		const GatePass p = g.pass();
		ASSERT_NE(p, GatePass::Hold);
		if (p == GatePass::PostSignaled) {
			signaled++;
			g.completed(false);
		}
	}
	EXPECT_EQ(signaled, 50);
}

TEST(RegistrationGate, OneAfterAnotherNeedsNoneWhenAnswersTell)
{
	RegistrationGate g;
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(g.pass(), GatePass::Post);
		g.answered();
	}
	// Only the answer to the last one tells anything.
	EXPECT_EQ(g.pass(), GatePass::Post);
	EXPECT_EQ(g.pass(), GatePass::PostSignaled);
	g.answered();
	EXPECT_EQ(g.pass(), GatePass::Hold);
}

TEST(RegistrationGate, AnotherCompletionOnlyOpensEarly)
{
	RegistrationGate g;
	g.completed(false);
	EXPECT_EQ(g.pass(), GatePass::Post);
	g.completed(false);
	EXPECT_EQ(g.pass(), GatePass::Post);
}

// Whatever the order of requests and completions: who is held has a completion to wait for, and
// none is held when all that was posted has completed.
TEST(RegistrationGate, NobodyWaitsForEver)
{
	std::mt19937 random(20261123);
	RegistrationGate g;
	std::deque<bool> queue; // posted, signaled or not
	unsigned held = 0;
	unsigned posted = 0;
	unsigned asked = 0;
	const auto complete = [&] {
		while (!queue.empty()) {
			const bool signaled = queue.front();
			queue.pop_front();
			if (!signaled)
				continue;
			g.completed(held != 0);
			if (held) {
				posted += held;
				held = 0;
				queue.push_back(true);
			}
			return;
		}
	};
	for (int i = 0; i < 100000; i++) {
		if (random() % 3) {
			asked++;
			switch (g.pass()) {
			case GatePass::Hold:
				held++;
				break;
			case GatePass::Post:
				posted++;
				queue.push_back(random() % 16 == 0); // what the ledger wants
				break;
			case GatePass::PostSignaled:
				posted++;
				queue.push_back(true);
				break;
			}
		} else {
			complete();
		}
		unsigned signaled = 0;
		for (const bool s : queue)
			signaled += s;
		ASSERT_TRUE(!held || signaled) << i;
	}
	while (!queue.empty())
		complete();
	EXPECT_EQ(held, 0u);
	EXPECT_EQ(posted, asked);
}

TEST(RegistrationGate, Batch)
{
	EXPECT_EQ(gate_batch(2048, 2, 16), 16u);
	EXPECT_EQ(gate_batch(80, 2, 16), 16u);
	EXPECT_EQ(gate_batch(40, 2, 16), 9u);
	EXPECT_EQ(gate_batch(8, 2, 16), 1u);
	EXPECT_EQ(gate_batch(3, 2, 16), 1u);
	EXPECT_EQ(gate_batch(0, 4, 16), 1u);
	for (unsigned capacity = 6; capacity < 300; capacity++)
		EXPECT_LE(gate_batch(capacity, 4, 16) * 4 + 1, capacity < 10 ? 5 : capacity / 2);
}
