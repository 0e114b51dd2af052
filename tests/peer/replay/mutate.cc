// SPDX-License-Identifier: GPL-2.0
#include "mutate.hh"

#include <algorithm>
#include <cstring>

namespace peer {

namespace {

constexpr uint32_t kOddNumbers[] = {
    0,	    1,	    2,	     3,	      4,	  7,	      8,	  9,	      24,
    35,	    36,	    37,	     55,      56,	  57,	      255,	  256,	      263,
    264,    265,    511,     512,     513,	  4095,	      4096,	  4097,	      8191,
    8192,   32767,  32768,   65535,   65536,	  126976,     131071,	  131072,     131073,
    262144, 524288, 1 << 20, 1 << 28, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};

} // namespace

uint32_t Mutator::odd_number()
{
	const uint32_t n = kOddNumbers[below(std::size(kOddNumbers))];
	switch (below(4)) {
	case 0:
		return n + below(3) - 1;
	case 1:
		return static_cast<uint32_t>(random_());
	default:
		return n;
	}
}

void Mutator::mutate(Bytes &bytes)
{
	for (uint32_t changes = 1 + below(3); changes; changes--) {
		const auto size = static_cast<uint32_t>(bytes.size());
		const uint32_t kind = size ? below(8) : 7;
		const uint32_t at = size ? below(size) : 0;
		const uint32_t n = odd_number();
		switch (kind) {
		case 0:
		case 1:
			bytes[at] ^= std::byte{1} << below(8);
			break;
		case 2:
			bytes[at] = static_cast<std::byte>(random_());
			break;
		case 3: // fields lie at even places
			std::memcpy(&bytes[at & ~1u], &n, std::min(2u, size - (at & ~1u)));
			break;
		case 4:
			std::memcpy(&bytes[at & ~3u], &n, std::min(4u, size - (at & ~3u)));
			break;
		case 5: { // a part is repeated elsewhere
			const uint32_t from = below(size);
			const uint32_t length = std::min(8u, size - std::max(at, from));
			std::memmove(&bytes[at], &bytes[from], length);
			break;
		}
		case 6:
			bytes.resize(at);
			break;
		case 7:
			bytes.resize(size + 1 + below(300), static_cast<std::byte>(random_()));
			break;
		}
	}
}

} // namespace peer
