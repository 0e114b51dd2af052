// SPDX-License-Identifier: GPL-2.0
// Objects as an aligned table, as CSV or as JSON.
#include "output.hh"

#include "failure.hh"
#include "text.hh"

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <memory>
#include <new>
#include <ostream>

#include <fmt/format.h>
#include <libsmartcols/libsmartcols.h>

namespace rnbdadm {

bool is_change(const std::string &column)
{
	return column[0] == '+' || column[0] == '-';
}

std::vector<const Field *> chosen_fields(const Kind &kind, const std::vector<std::string> &columns)
{
	std::vector<const Field *> fields;
	std::vector<std::string> known;
	for (const Field &field : kind.fields)
		known.push_back(field.key);
	// Nothing, or nothing but changes: those that are shown anyway.
	if (std::all_of(columns.begin(), columns.end(), is_change))
		for (const Field &field : kind.fields)
			if (field.shown)
				fields.push_back(&field);
	for (const std::string &column : columns) {
		std::string wanted = is_change(column) ? column.substr(1) : column;
		bool away = column[0] == '-';
		if (wanted == "all") {
			fields.clear();
			for (const Field &field : kind.fields)
				if (!away)
					fields.push_back(&field);
			continue;
		}
		auto found = std::find(known.begin(), known.end(), wanted);
		if (found == known.end())
			throw Failure(Exit::Usage,
				      fmt::format("a {} has no column '{}'{}", kind.name, wanted,
						  did_you_mean(wanted, known)),
				      "columns: all " + join(known, " "));
		const Field *field = &kind.fields[static_cast<std::size_t>(found - known.begin())];
		auto present = std::find(fields.begin(), fields.end(), field);
		if (away && present != fields.end())
			fields.erase(present);
		else if (!away && (present == fields.end() || !is_change(column)))
			fields.push_back(field);
	}
	if (fields.empty())
		throw Failure(Exit::Usage, "--columns leaves no column",
			      "columns: all " + join(known, " "));
	return fields;
}

std::string shown(const Json &value, Unit unit, const Style &style)
{
	const bool raw = style.raw;
	if (unit == Unit::Owner && !raw)
		return value.is_null() ? "others"
		       : value == "-"  ? "by hand"
				       : value.get<std::string>();
	if (unit == Unit::Whom && !raw && (value.is_null() || value == ""))
		return "any";
	if (value.is_null())
		return raw ? "" : "-";
	if (value.is_string())
		return value.get<std::string>();
	if (value.is_boolean())
		return value.get<bool>() ? "yes" : "no";
	if (value.is_array()) {
		std::vector<std::string> words;
		for (const Json &item : value)
			words.push_back(item.is_string() ? item.get<std::string>() : item.dump());
		return words.empty() && !raw ? "-" : join(words, " ");
	}
	if (value.is_object()) {
		std::vector<std::string> words;
		for (const auto &[key, item] : value.items())
			if (item != 0)
				words.push_back(key + "=" + item.dump());
		return words.empty() && !raw ? "0" : join(words, " ");
	}
	if (!value.is_number())
		return value.dump();
	if (raw)
		return value.is_number_float() ? fmt::format("{:.3f}", value.get<double>())
					       : value.dump();
	double number = value.get<double>();
	switch (unit) {
	case Unit::Bytes:
		return human_bytes(number, style.bytes);
	case Unit::BytesPerSecond:
		return human_bytes(number, style.bytes) + "/s";
	// None was measured, or there is none.
	case Unit::Nanoseconds:
		return number == 0 ? "-" : human_time(number);
	case Unit::Milliseconds:
		return number == 0 ? "-" : human_time(number * 1e6);
	case Unit::Seconds:
		return fmt::format("{} s", value.dump());
	case Unit::PerSecond:
		return human_count(number);
	default:
		return value.dump();
	}
}

namespace {

// What makes a terminal show the colour of a state.
const char *colour_of(const std::string &state)
{
	static const std::vector<std::string> kGood = {"open", "connected", "active", "ok"};
	static const std::vector<std::string> kPoor = {"degraded", "init", "note", "armed"};
	auto is = [&](const std::vector<std::string> &words) {
		return std::find(words.begin(), words.end(), state) != words.end();
	};
	return is(kGood) ? "\033[32m" : is(kPoor) ? "\033[33m" : "\033[31m";
}

} // namespace

std::string coloured(const std::string &text, const std::string &state, bool colour)
{
	return colour ? fmt::format("{}{}\033[0m", colour_of(state), text) : text;
}

namespace {

bool right_aligned(Unit unit)
{
	switch (unit) {
	case Unit::Text:
	case Unit::State:
	case Unit::Flag:
	case Unit::List:
	case Unit::Counts:
	case Unit::Owner:
	case Unit::Whom:
		return false;
	default:
		return true;
	}
}

// Names are UTF-8, whatever the locale of who prints them, such as cron's: what a character takes
// on a terminal is asked of the C library.
class Utf8 {
public:
	Utf8() : before_(uselocale(locale())) {}
	Utf8(const Utf8 &) = delete;
	Utf8 &operator=(const Utf8 &) = delete;
	~Utf8() { uselocale(before_); }

private:
	// Read from files once. Null, and no change of anything, if there are none.
	static locale_t locale()
	{
		static const locale_t kLocale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
		return kLocale;
	}
	locale_t before_;
};

// What a line takes on a terminal, without the sequences that colour it and the blanks at its end.
std::size_t width_of(const std::string &line)
{
	std::string plain;
	for (std::size_t i = 0; i < line.size(); i++)
		if (line[i] == '\033')
			i = std::min(line.find('m', i), line.size());
		else
			plain += line[i];
	plain.resize(plain.find_last_not_of(' ') + 1);
	std::wstring wide(plain.size(), L'\0');
	const std::size_t characters = std::mbstowcs(wide.data(), plain.c_str(), wide.size());
	const int places =
	    characters == static_cast<std::size_t>(-1) ? -1 : wcswidth(wide.data(), characters);
	return places < 0 ? plain.size() : static_cast<std::size_t>(places);
}

struct Unref {
	void operator()(libscols_table *table) const { scols_unref_table(table); }
};

template <class T> T *need(T *made)
{
	if (!made)
		throw std::bad_alloc();
	return made;
}

void need(int error)
{
	if (error)
		throw std::bad_alloc();
}

bool is_list(Unit unit)
{
	return unit == Unit::List || unit == Unit::Whom || unit == Unit::Counts;
}

// Of a list that is to be `folded`, one of its words a line.
std::string cell_text(const Json &value, Unit unit, const Style &style, bool folded)
{
	std::string text;
	if (folded && value.is_array() && !value.empty()) {
		for (const Json &item : value)
			text += (text.empty() ? "" : "\n") + printable(shown(item, unit, style));
		return text;
	}
	text = printable(shown(value, unit, style));
	return folded ? replace_all(text, " ", "\n") : text;
}

std::vector<std::string> table_lines(const std::vector<const Field *> &fields,
				     const std::vector<Json> &rows, const Style &style, bool folded)
{
	std::unique_ptr<libscols_table, Unref> table(need(scols_new_table()));
	need(scols_table_set_column_separator(table.get(), "  "));
	need(scols_table_enable_noheadings(table.get(), !style.header));
	need(scols_table_enable_colors(table.get(), style.colour));
	need(scols_table_set_termforce(table.get(), SCOLS_TERMFORCE_NEVER));
	for (const Field *field : fields) {
		const bool folds = folded && is_list(field->unit);
		libscols_column *column =
		    need(scols_table_new_column(table.get(), style.header ? field->title : "", 0,
						(right_aligned(field->unit) ? SCOLS_FL_RIGHT : 0) |
						    (folds ? SCOLS_FL_WRAP : 0)));
		if (!folds)
			continue;
		need(scols_column_set_safechars(column, "\n"));
		need(scols_column_set_wrapfunc(column, scols_wrapnl_chunksize,
					       scols_wrapnl_nextchunk, nullptr));
	}
	for (const Json &row : rows) {
		libscols_line *line = need(scols_table_new_line(table.get(), nullptr));
		for (std::size_t i = 0; i < fields.size(); i++) {
			const Unit unit = fields[i]->unit;
			const std::string text = cell_text(row.value(fields[i]->key, Json()), unit,
							   style, folded && is_list(unit));
			need(scols_line_set_data(line, i, text.c_str()));
			if (unit == Unit::State)
				need(scols_cell_set_color(scols_line_get_cell(line, i),
							  colour_of(text)));
		}
	}
	char *text = nullptr;
	need(scols_print_table_to_string(table.get(), &text));
	const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
	return split(text, "\n");
}

// A word is never broken, so that it can be taken from the screen: where a terminal is too narrow,
// only lists go over several lines; whoever wants less chooses columns.
void print_table(std::ostream &out, const std::vector<const Field *> &fields,
		 const std::vector<Json> &rows, const Style &style)
{
	const Utf8 encoding;
	std::vector<std::string> lines = table_lines(fields, rows, style, false);
	if (style.width && std::any_of(lines.begin(), lines.end(), [&](const std::string &line) {
		    return width_of(line) > style.width;
	    }))
		lines = table_lines(fields, rows, style, true);
	for (const std::string &line : lines)
		out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
}

// RFC 4180, with the newline of this system.
std::string csv_cell(const std::string &text)
{
	if (text.find_first_of(",\"\n\r") == std::string::npos)
		return text;
	return '"' + replace_all(text, "\"", "\"\"") + '"';
}

void print_csv(std::ostream &out, const std::vector<const Field *> &fields,
	       const std::vector<Json> &rows, const Style &style)
{
	Style plain;
	plain.raw = true;
	std::vector<std::vector<std::string>> lines;
	if (style.header) {
		lines.emplace_back();
		for (const Field *field : fields)
			lines.back().push_back(field->key);
	}
	for (const Json &row : rows) {
		lines.emplace_back();
		for (const Field *field : fields)
			lines.back().push_back(
			    csv_cell(shown(row.value(field->key, Json()), field->unit, plain)));
	}
	for (const auto &line : lines) {
		for (std::size_t i = 0; i < line.size(); i++)
			out << (i ? "," : "") << line[i];
		out << '\n';
	}
}

Json narrowed(const Json &row, const std::vector<const Field *> &fields, bool all)
{
	if (all)
		return row;
	Json j;
	for (const Field *field : fields)
		j[field->key] = row.value(field->key, Json());
	return j;
}

// The key in words. A value with its unit beside it needs no unit in its name.
std::string label(const Field &field, bool raw)
{
	std::string name = replace_all(field.key, "_", " ");
	bool time = field.unit == Unit::Nanoseconds || field.unit == Unit::Milliseconds;
	return time && !raw ? name.substr(0, name.rfind(' ')) : name;
}

} // namespace

void print_line(std::ostream &out, const Json &document)
{
	out << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

void print_document(std::ostream &out, const Json &document)
{
	// Names in sysfs are bytes; what is no UTF-8 becomes the replacement character.
	out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

Json json_rows(const Kind &kind, const std::vector<Json> &rows, const Style &style)
{
	std::vector<const Field *> fields = chosen_fields(kind, style.columns);
	Json array = Json::array();
	for (const Json &row : rows)
		array.push_back(narrowed(row, fields, style.columns.empty()));
	return array;
}

void print_rows(std::ostream &out, const Kind &kind, const std::vector<Json> &rows,
		const Style &style)
{
	std::vector<const Field *> fields = chosen_fields(kind, style.columns);
	switch (style.format) {
	case Format::Json: {
		Json j = document();
		j[kind.plural] = json_rows(kind, rows, style);
		print_document(out, j);
		return;
	}
	case Format::Csv:
		return print_csv(out, fields, rows, style);
	case Format::Table:
		if (!rows.empty())
			print_table(out, fields, rows, style);
		return;
	}
}

void print_one(std::ostream &out, const Kind &kind, const Json &row, const Style &style)
{
	if (style.format == Format::Csv) {
		Style all = style;
		if (all.columns.empty())
			all.columns = {"all"};
		return print_rows(out, kind, {row}, all);
	}
	if (style.format == Format::Json) {
		Json j = document();
		j[kind.name] =
		    narrowed(row, chosen_fields(kind, style.columns), style.columns.empty());
		return print_document(out, j);
	}
	std::vector<std::string> all = {"all"};
	std::size_t widest = 0;
	std::vector<const Field *> fields =
	    chosen_fields(kind, style.columns.empty() ? all : style.columns);
	for (const Field *field : fields)
		widest = std::max(widest, label(*field, style.raw).size());
	for (const Field *field : fields) {
		std::string text =
		    printable(shown(row.value(field->key, Json()), field->unit, style));
		out << fmt::format(
		    "{:<{}} {}\n", label(*field, style.raw) + ":", widest + 1,
		    coloured(text, text, style.colour && field->unit == Unit::State));
	}
}

} // namespace rnbdadm
