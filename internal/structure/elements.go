package structure

import (
	"cmp"
	"strings"
)

// masses are standard atomic weights in u (IUPAC 2021, abridged; for elements
// without a stable isotope the mass number of the longest-lived).
var masses = map[string]float64{
	"H": 1.008, "D": 2.014, "HE": 4.0026, "LI": 6.94, "BE": 9.0122, "B": 10.81, "C": 12.011, "N": 14.007, "O": 15.999,
	"F": 18.998, "NE": 20.180, "NA": 22.990, "MG": 24.305, "AL": 26.982, "SI": 28.085, "P": 30.974, "S": 32.06,
	"CL": 35.45, "AR": 39.95, "K": 39.098, "CA": 40.078, "SC": 44.956, "TI": 47.867, "V": 50.942, "CR": 51.996,
	"MN": 54.938, "FE": 55.845, "CO": 58.933, "NI": 58.693, "CU": 63.546, "ZN": 65.38, "GA": 69.723, "GE": 72.630,
	"AS": 74.922, "SE": 78.971, "BR": 79.904, "KR": 83.798, "RB": 85.468, "SR": 87.62, "Y": 88.906, "ZR": 91.224,
	"NB": 92.906, "MO": 95.95, "TC": 97, "RU": 101.07, "RH": 102.91, "PD": 106.42, "AG": 107.87, "CD": 112.41,
	"IN": 114.82, "SN": 118.71, "SB": 121.76, "TE": 127.60, "I": 126.90, "XE": 131.29, "CS": 132.91, "BA": 137.33,
	"LA": 138.91, "CE": 140.12, "PR": 140.91, "ND": 144.24, "PM": 145, "SM": 150.36, "EU": 151.96, "GD": 157.25,
	"TB": 158.93, "DY": 162.50, "HO": 164.93, "ER": 167.26, "TM": 168.93, "YB": 173.05, "LU": 174.97, "HF": 178.49,
	"TA": 180.95, "W": 183.84, "RE": 186.21, "OS": 190.23, "IR": 192.22, "PT": 195.08, "AU": 196.97, "HG": 200.59,
	"TL": 204.38, "PB": 207.2, "BI": 208.98, "PO": 209, "AT": 210, "RN": 222, "FR": 223, "RA": 226, "AC": 227,
	"TH": 232.04, "PA": 231.04, "U": 238.03, "NP": 237, "PU": 244, "AM": 243, "CM": 247,
}

// Mass returns the atomic weight in u of an element, given by its symbol in upper case; that of carbon if it is
// unknown.
func Mass(element string) float64 { return cmp.Or(masses[element], masses["C"]) }

// ions are the elements of ions by the name that their residue and their atom share in CHARMM. In the CCD these are
// codes of other molecules, which have no such atom.
//
// Source: toppar_water_ions, as charmm36/water.xml of OpenMM 8.6 has it.
var ions = map[string]string{
	"CLA": "CL", "SOD": "NA", "POT": "K", "CAL": "CA", "CES": "CS", "LIT": "LI", "RUB": "RB", "BAR": "BA",
}

// ionElement returns the element of an ion that is named as its residue: by CHARMM (SOD), by its symbol (CA, Na+), or
// in CHARMM's file of metals by its symbol and charge (FE2P); or by its symbol in a component of ionCodes, wherever the
// columns of a PDB file have it. It is empty for other atoms.
func ionElement(comp, name string) string {
	symbol := strings.ToUpper(strings.TrimRight(comp, "+-"))
	switch {
	case name != "" && ionCodes[comp] == name:
		return name
	case strings.ToUpper(strings.TrimRight(name, "+-")) != symbol:
		return ""
	case ions[symbol] != "":
		return ions[symbol]
	case masses[symbol] > 0:
		return symbol
	}
	if n := len(comp); n > 2 && comp[n-1] == 'P' && digit(comp[n-2]) && masses[comp[:n-2]] > 0 {
		return comp[:n-2]
	}
	return ""
}

// ionCodes are the elements of the components of one atom in the CCD whose code is not the symbol, and of CHARMM's CD2;
// their atom is named by the symbol.
var ionCodes = map[string]string{
	"0BE": "BE", "3CO": "CO", "3NI": "NI", "4MO": "MO", "4PU": "PU", "4TI": "TI", "6MO": "MO", "ARS": "AS", "AU3": "AU",
	"BRO": "BR", "BS3": "BI", "CD2": "CD", "CLO": "CL", "CU1": "CU", "CU3": "CU", "ER3": "ER", "EU3": "EU", "FE2": "FE",
	"GD3": "GD", "HO3": "HO", "IR3": "IR", "MN3": "MN", "OS4": "OS", "PT4": "PT", "RH3": "RH", "RHF": "RH", "TA0": "TA",
	"YB2": "YB", "ZN2": "ZN",
}
