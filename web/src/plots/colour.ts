// The colours of plots and viewer.

/** Red, green and blue, 0 to 255. */
export type RGB = readonly [number, number, number]

const hex = (h: number): RGB => [(h >> 16) & 255, (h >> 8) & 255, h & 255]

/** The colour in CSS. */
export const css = (c: RGB) => `rgb(${c[0]} ${c[1]} ${c[2]})`
/** The colour as 0xRRGGBB, as Mol* takes it. */
export const toHex = (c: RGB) => (c[0] << 16) | (c[1] << 8) | c[2]

/** The pLDDT classes of the AlphaFold database. A residue belongs to the first class whose floor its pLDDT is above. */
export const bands = [
  { floor: 90, label: 'Very high', range: 'above 90', rgb: hex(0x0053d6) },
  { floor: 70, label: 'Confident', range: '70–90', rgb: hex(0x65cbf3) },
  { floor: 50, label: 'Low', range: '50–70', rgb: hex(0xffdb13) },
  { floor: -Infinity, label: 'Very low', range: 'below 50', rgb: hex(0xff7d45) },
] as const

/** The class of a pLDDT. */
export const band = (plddt: number) => bands.find((b) => plddt > b.floor) ?? bands[3]

/**
 * Classes of the predicted RMSD in Å, the best first, in colours of viridis, as package plot of the service has them. A
 * residue belongs to the last class whose floor its RMSD is above.
 */
export const rmsdBands = [
  { floor: -Infinity, range: 'up to 0.5 Å', rgb: hex(0x440154) },
  { floor: 0.5, range: '0.5–1 Å', rgb: hex(0x3b528b) },
  { floor: 1, range: '1–1.5 Å', rgb: hex(0x21918c) },
  { floor: 1.5, range: '1.5–2.5 Å', rgb: hex(0x5ec962) },
  { floor: 2.5, range: 'above 2.5 Å', rgb: hex(0xfde725) },
] as const

/** The class of a predicted RMSD. */
export const rmsdBand = (rmsd: number) => rmsdBands.findLast((b) => rmsd > b.floor) ?? rmsdBands[0]

/** The colour of residues without a value. */
export const none: RGB = hex(0xaaaaaa)

// Seven stops of viridis (van der Walt and Smith, 2015), whose order is visible in grey and with colour blindness.
const viridis = [0x440154, 0x443983, 0x31688e, 0x21918c, 0x35b779, 0x90d743, 0xfde725].map(hex)

/** The colour of a fraction from 0 to 1 on viridis. */
export const smooth = (t: number): RGB => ramp(viridis, t)

// From small to large errors: the greens of the AlphaFold database's PAE plots.
const greens = [0x00441b, 0x1b7837, 0x4daf62, 0x8fd19e, 0xcdecd3, 0xffffff].map(hex)

/** The colour of a predicted aligned error, as a fraction of the largest. */
export const errorColour = (t: number): RGB => ramp(greens, t)

/** The colours of selections, which differ from all colours above and, with colour blindness too, from each other. */
export const marks = { scored: hex(0xd01c8b), aligned: hex(0x7b3fe4), picked: hex(0xd01c8b) } as const

// Okabe and Ito's colours, for chains and series.
const okabeIto = [0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xd55e00, 0xb59f00, 0x666666].map(hex)

/** The colour of the chain with this index; the colours repeat. */
export const chainColour = (i: number): RGB => okabeIto[i % okabeIto.length]!

/** The colours of designed chains and of all others. */
export const designColours = { designed: okabeIto[1]!, target: okabeIto[4]! } as const

/** Interpolates between equally spaced colours; t from 0 to 1, clamped. */
function ramp(stops: readonly RGB[], t: number): RGB {
  const x = Math.min(1, Math.max(0, Number.isFinite(t) ? t : 0)) * (stops.length - 1)
  const i = Math.min(stops.length - 2, Math.floor(x))
  const f = x - i
  const a = stops[i]!
  const b = stops[i + 1]!
  return [0, 1, 2].map((k) => Math.round(a[k]! + (b[k]! - a[k]!) * f)) as unknown as RGB
}
