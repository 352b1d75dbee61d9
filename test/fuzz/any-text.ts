import fc from 'fast-check'

/**
 * Any character except lone surrogates. fast-check's own `binary` first builds a table of all
 * characters.
 */
const character = fc
  .integer({ min: 0, max: 0x10_ffff - 0x800 })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800))
const likely = fc.integer({ min: 0, max: 0x2ff }).map((n) => String.fromCodePoint(n))
const unit = fc.oneof(likely, character)

/** Any string. */
export function anyText(
  constraints: Omit<fc.StringConstraints, 'unit'> = {},
): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit })
}
