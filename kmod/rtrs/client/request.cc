// SPDX-License-Identifier: GPL-2.0
// Memory of a path's requests.
#include <rtrs/client/request.hh>

#include <rtrs/wire/capsule.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

// Messages lie in single pages: a path that connects again while memory is short and fragmented
// needs nothing contiguous that is larger.
constexpr u32 kMessageSize = sizeof(RequestCapsule) + RTRS_MAX_USER_MSG + kMaxIoHeaderSize;
constexpr u32 kMessageStride = (kMessageSize + 63) & ~63u;
constexpr u32 kPageBytes = 4096;
constexpr u32 kMessagesPerPage = kPageBytes / kMessageStride;

int compare_age(const void *a, const void *b)
{
	const u64 first = (*static_cast<Request *const *>(a))->started_ns;
	const u64 second = (*static_cast<Request *const *>(b))->started_ns;
	return first < second ? -1 : first > second;
}

} // namespace

RequestTable::InFlight RequestTable::in_flight()
{
	u32 count = 0;
	for (Request &request : requests_)
		if (request.state != RequestState::Idle)
			order_[count++] = &request;
	sort(order_.begin(), count, sizeof(Request *), compare_age, nullptr);
	return {order_.begin(), count};
}

Result<Box<RequestTable>> RequestTable::create(const PathDevice &device, const DeviceLimits &limits,
					       QueueDepth depth)
{
	Box<RequestTable> t = TRY(make_box<RequestTable>(GFP_KERNEL));
	t->pages_ = TRY(Array<DmaBuffer>::create(DIV_ROUND_UP(depth.value, kMessagesPerPage)));
	for (DmaBuffer &page : t->pages_)
		page = TRY(DmaBuffer::create(device.ibdev(), kPageBytes, DMA_TO_DEVICE));

	t->order_ = TRY(Array<Request *>::create(depth.value));
	t->requests_ = TRY(Array<Request>::create(depth.value));
	for (u32 i = 0; i < depth.value; i++) {
		Request &r = t->requests_[i];
		r.message_page = &t->pages_[i / kMessagesPerPage];
		r.message_offset = i % kMessagesPerPage * kMessageStride;
		r.message = r.message_page->data() + r.message_offset;
		r.message_dma = r.message_page->dma_addr() + r.message_offset;
		r.region = TRY(MemoryRegion::create(device, limits.mr_type, limits.max_pages));
	}
	return t;
}

} // namespace rtrs::client
