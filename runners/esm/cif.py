"""A protein chain as mmCIF. Pure: standard library only."""

COLUMNS = (
    "group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id label_entity_id label_seq_id "
    "pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z occupancy B_iso_or_equiv auth_seq_id auth_asym_id pdbx_PDB_model_num"
).split()


def write(
    chain: str,
    residues: list[str],
    atoms: list[str],
    coordinates: list[list[list[float]]],
    exists: list[list[bool]],
    confidence: list[list[float]],
) -> str:
    """The mmCIF text of one chain. residues are names of three letters. coordinates[i][j] in Å, exists[i][j] and
    confidence[i][j] (pLDDT from 0 to 100, for the column of B factors) belong to atom atoms[j] of residue i."""
    lines = ["data_model", "_entity.id 1", "_entity.type polymer", "_entity_poly.entity_id 1"]
    lines += ["_entity_poly.type 'polypeptide(L)'", "loop_"]
    lines += [f"_entity_poly_seq.{c}" for c in ("entity_id", "num", "mon_id")]
    lines += [f"1 {i} {name}" for i, name in enumerate(residues, 1)]
    lines += ["loop_"] + [f"_atom_site.{c}" for c in COLUMNS]
    serial = 0
    for i, name in enumerate(residues):
        for j, atom in enumerate(atoms):
            if not exists[i][j]:
                continue
            serial += 1
            x, y, z = coordinates[i][j]
            # In the twenty amino acids the first letter of an atom's name is its element.
            lines.append(
                f"ATOM {serial} {atom[0]} {atom} . {name} {chain} 1 {i + 1} ? {x:.3f} {y:.3f} {z:.3f} "
                f"1.00 {confidence[i][j]:.2f} {i + 1} {chain} 1"
            )
    return "\n".join(lines) + "\n#\n"
