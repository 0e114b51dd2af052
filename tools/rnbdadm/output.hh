// SPDX-License-Identifier: GPL-2.0
// Objects as an aligned table, as CSV or as JSON.
#pragma once

#include "fields.hh"
#include "text.hh"

#include <iosfwd>

namespace rnbdadm {

enum class Format { Table, Json, Csv };

struct Style {
	Format format = Format::Table;
	bool colour = false;
	bool header = true;
	bool raw = false; // numbers as they are, without units
	ByteUnit bytes = ByteUnit::Auto;
	std::vector<std::string> columns;
	std::size_t width = 0; // of the terminal that it is for; 0: lines may be of any length
};

// "+NAME" and "-NAME" change what is shown anyway.
bool is_change(const std::string &column);
// Failure (Usage) for a column that the kind does not have.
std::vector<const Field *> chosen_fields(const Kind &kind, const std::vector<std::string> &columns);

// A value as a table shows it.
std::string shown(const Json &value, Unit unit, const Style &style);
// With the colour of its meaning, if `colour` is set.
std::string coloured(const std::string &text, const std::string &state, bool colour);

// The array of a document: whole objects, or of each what --columns chooses.
Json json_rows(const Kind &kind, const std::vector<Json> &rows, const Style &style);
void print_rows(std::ostream &out, const Kind &kind, const std::vector<Json> &rows,
		const Style &style);
// One object: "title: value" lines, or a document, or a line of CSV.
void print_one(std::ostream &out, const Kind &kind, const Json &row, const Style &style);
void print_document(std::ostream &out, const Json &document);
// The same on one line.
void print_line(std::ostream &out, const Json &document);

} // namespace rnbdadm
