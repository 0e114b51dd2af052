// SPDX-License-Identifier: GPL-2.0
// RNBD messages of both sides. Input: direction (1), size of the transfer (4), version (1), device
// limits, message.
#include "fuzz.hh"

#include <rnbd/pure/device_path.hh>
#include <rnbd/wire/extension.hh>
#include <rnbd/wire/open_response.hh>
#include <rnbd/wire/operations.hh>

using namespace rnbd;

namespace {

void open_message(ByteView message, Transfer transfer)
{
	auto open = parse_open(message, transfer, feature::all);
	if (!open.ok())
		return;
	MUST(transfer.is_read() && transfer.size >= sizeof(OpenResponse));
	TextView name = open->name.view();
	MUST(std::strlen(open->name.c_str()) == name.size());
	MUST(!name.empty() && name.size() <= 254);
	std::vector<char> memory(kPathSize);
	cxxrt::TextWriter out(memory.data(), memory.size());
	if (write_device_path(out, "/dev/%SESSNAME%/x", "session", name).ok()) {
		std::string path = memory.data();
		MUST(path.rfind("/dev/session/x/", 0) == 0);
		MUST(path.find("//") == std::string::npos);
		MUST((path + "/").find("/../") == std::string::npos);
	}
	const Open again = make_open(open->access_mode, open->name);
	const ByteView sent(&again, sizeof(again));
	MUST(parse_open(sent, transfer, feature::all).ok());
	MUST(parse_open(sent, transfer).ok() == (open->access_mode != AccessMode::Shared));
}

void numbered_message(ByteView message, Transfer transfer)
{
	auto close = parse_numbered_close(message, transfer);
	if (close.ok()) {
		MUST(!transfer.is_read() && transfer.size == 0 && close->value);
		const NumberedClose again = make_numbered_close(close.value());
		MUST(parse_numbered_close(ByteView(&again, sizeof(again)), transfer).value() ==
		     close.value());
	}
	auto open = parse_numbered_open(message, transfer, feature::all);
	if (!open.ok())
		return;
	MUST(!close.ok() && transfer.is_read() && transfer.size >= sizeof(OpenResponse));
	MUST(open->number.value != 0);
	const NumberedOpen again =
	    make_numbered_open(open->want.access_mode, open->want.name, open->number);
	auto read = parse_numbered_open(ByteView(&again, sizeof(again)), transfer, feature::all);
	MUST(read.ok() && read->number == open->number &&
	     read->want.access_mode == open->want.access_mode &&
	     read->want.name.view() == open->want.name.view());
}

void io_message(ByteView message, Transfer transfer, std::uint8_t version,
		const DeviceLimits &device)
{
	auto io = parse_io(message, version);
	if (!io.ok())
		return;
	auto checked = check_io(io.value(), transfer, device);
	if (!checked.ok())
		return;
	MUST(transfer.direction == direction_of(checked->operation));
	MUST(!device.read_only || !changes_device(checked->operation));
	MUST((checked->flags & ~flags_of(checked->operation)) == 0);
	std::uint64_t sectors = checked->bytes / 512;
	MUST(sectors <= device.capacity.value &&
	     checked->sector.value <= device.capacity.value - sectors);
	if (checked->bytes)
		MUST(checked->bytes % device.logical_block_size == 0);
	if (carries_data(checked->operation))
		MUST(checked->bytes == transfer.size && checked->bytes <= device.max_io_bytes);
	else
		MUST(transfer.size == 0);
}

void answer(ByteView message)
{
	auto p = parse_open_response(message, ClientLimits{4096, true});
	if (!p.ok())
		return;
	MUST(open_response_id(message).value() == p->device);
	MUST(is_power_of_two(p->logical_block_size) && p->logical_block_size <= 4096);
	MUST(is_power_of_two(p->physical_block_size) &&
	     p->physical_block_size >= p->logical_block_size);
	MUST(p->capacity.value <= kMaxCapacitySectors);
	MUST(p->max_discard_sectors <= kMaxRangeSectors);
	MUST(!p->max_discard_sectors || p->discard_granularity >= p->logical_block_size);
	// What was believed survives being told on.
	auto wire = make_open_response(p.value());
	MUST(wire.ok());
	auto again = parse_open_response(ByteView(&wire.value(), sizeof(OpenResponse)),
					 ClientLimits{4096, true});
	MUST(again.ok());
	MUST(again->capacity == p->capacity && again->writeback == p->writeback &&
	     again->fua == p->fua && again->max_discard_sectors == p->max_discard_sectors &&
	     again->discard_granularity == p->discard_granularity &&
	     (again->max_secure_erase_sectors != 0) == (p->max_secure_erase_sectors != 0));
}

void extension_message(ByteView message, Transfer transfer)
{
	auto states = parse_device_states(message, transfer);
	MUST(!states.ok() || (transfer.is_read() && transfer.size >= kMaxDeviceStatesSize));
	auto identify = parse_identify(message, transfer);
	MUST(!identify.ok() || (transfer.is_read() && transfer.size >= sizeof(IdentifyResponse)));
	auto limits = parse_device_limits(message, transfer);
	MUST(!limits.ok() || (transfer.is_read() && transfer.size >= sizeof(DeviceLimitsResponse)));
	auto discover = parse_discover(message, transfer);
	MUST(!discover.ok() || (transfer.is_read() && transfer.size >= kMaxDiscoverSize));
	auto reserve = parse_reserve(message, transfer);
	MUST(states.ok() + identify.ok() + limits.ok() + discover.ok() + reserve.ok() <= 1);
	if (!reserve.ok())
		return;
	const ReserveRequest &r = reserve->request;
	MUST(transfer.is_read() && transfer.size >= reserve_answer_size(r.operation));
	MUST(r.serial && !(r.ignore_key && r.operation != ReserveOperation::Register));
	MUST(!only_reads(r.operation) || !(r.key || r.second_key));
	const ReserveQuestion again = make_reserve(reserve->device, r);
	MUST(!std::memcmp(message.data() + 4, reinterpret_cast<const char *>(&again) + 4,
			  sizeof(again) - 4));
}

void extension_answer(ByteView message, std::uint32_t first)
{
	auto states = DeviceStatesView::parse(message, first);
	if (states.ok()) {
		MUST(states->next() > first && states->count() <= kMaxStateEntries);
		for (std::uint32_t i = 0; i < states->count(); i++) {
			const DeviceCondition c = (*states)[i];
			MUST(c.device.value >= first && c.device.value < states->next());
			MUST(!c.fua || c.writeback);
			MUST(states->find(c.device).ok());
		}
	}
	auto exports = DiscoverView::parse(message, first);
	if (exports.ok()) {
		MUST(exports->next() > first && exports->count() <= kMaxDiscoverEntries);
		for (std::uint32_t i = 0; i < exports->count(); i++) {
			const DiscoveredExport e = (*exports)[i];
			MUST(e.number >= first && e.number < exports->next());
			MUST(e.access <= AccessMode::Shared);
			MUST(!e.openers.written_elsewhere || e.openers.elsewhere);
			MUST(e.capacity.value <= kMaxCapacitySectors);
			const DeviceName kept = exports->name(i).value();
			const TextView name = kept.view();
			MUST(!name.empty() && name.size() <= 254);
			MUST(name.find('\n') == name.size());
		}
	}
	for (ReserveOperation op : {ReserveOperation::ReadKeys, ReserveOperation::Reserve}) {
		auto reservations = ReserveView::parse(message, op);
		if (!reservations.ok())
			continue;
		const u32 count = reservations->count();
		MUST(count <= (op == ReserveOperation::ReadKeys ? kMaxReserveKeys : 0));
		for (u32 i = 0; i < count; i++)
			MUST(reservations->key(i));
		const ReservationState &state = reservations->state();
		MUST(state.type <= ReservationType::ExclusiveAccessAll);
		MUST(state.type != ReservationType::None || !state.holder);
	}
	auto identity = parse_identify_response(message);
	if (identity.ok()) {
		const Wwid &wwid = identity->wwid;
		MUST(std::strlen(wwid.c_str()) == wwid.view().size());
		auto name = make_wwid_name(wwid);
		MUST(name.ok() == !wwid.empty());
		MUST(!name.ok() || parse_wwid_name(name->view()).value() == wwid);
		const IdentifyResponse again = make_identify_response(*identity);
		auto told = parse_identify_response(ByteView(&again, sizeof(again)));
		MUST(told.ok() && told->wwid == wwid && told->losses == identity->losses &&
		     told->configured == identity->configured);
	}
	for (std::uint32_t block = 512; block <= 4096; block *= 2) {
		auto limits = parse_device_limits_response(message, block);
		if (!limits.ok())
			continue;
		MUST(is_power_of_two(limits->physical_block_size) &&
		     limits->physical_block_size >= block);
		MUST(limits->io_min >= limits->physical_block_size && limits->io_min % block == 0);
		MUST(limits->io_opt % block == 0);
		MUST(limits->alignment_offset >= kMisaligned);
	}
	auto name = parse_wwid_name(
	    TextView(reinterpret_cast<const char *>(message.data()), message.size()));
	MUST(!name.ok() || !name->empty());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	Input input(data, size);
	const std::uint8_t bits = input.take<std::uint8_t>();
	const Transfer transfer{bits & 1 ? Transfer::Direction::Write : Transfer::Direction::Read,
				input.take<std::uint32_t>()};
	const std::uint8_t version = input.take<std::uint8_t>();
	const DeviceLimits device{
	    .capacity = {input.take<std::uint64_t>() & 0x3fffffffffffff},
	    .logical_block_size = 512u << (bits >> 5),
	    .read_only = (bits & 2) != 0,
	    .max_io_bytes = 126976,
	    .max_discard_sectors = bits & 4 ? kMaxRangeSectors : 0,
	    .max_secure_erase_sectors = bits & 8 ? kMaxRangeSectors : 0,
	    .max_write_zeroes_sectors = bits & 16 ? kMaxRangeSectors : 0,
	};
	const auto bytes = input.rest();

	auto type = parse_message_type(view(bytes));
	auto info = parse_session_info(view(bytes), transfer);
	MUST(!info.ok() || (type.ok() && type.value() == MessageType::SessionInfo &&
			    info.value() <= kProtocolMajor));
	auto info_answer = parse_session_info_response(view(bytes));
	MUST(!info_answer.ok() || info_answer.value() <= kProtocolMajor);
	auto id = parse_close(view(bytes), transfer);
	MUST(!id.ok() || (!transfer.is_read() && transfer.size == 0));
	open_message(view(bytes), transfer);
	numbered_message(view(bytes), transfer);
	io_message(view(bytes), transfer, version, device);
	answer(view(bytes));
	extension_message(view(bytes), transfer);
	extension_answer(view(bytes), transfer.size & 0xff);
	return 0;
}
