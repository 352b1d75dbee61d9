import fc from 'fast-check'

/** Bytes that are unchanged, or with a few of them changed, dropped, duplicated or added. */
export function mutated(bytes: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const change = fc.tuple(
    fc.constantFrom('set', 'drop', 'insert', 'double', 'cut'),
    fc.nat(0xffff),
    fc.oneof(fc.constantFrom(0, 1, 3, 22, 255, 13, 10, 32), fc.nat(255)),
  )
  const changes = fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.array(change, { maxLength: 3 }) },
  )
  return fc.tuple(bytes, changes).map(([whole, all]) => all.reduce(apply, whole))
}

type Change = readonly [string, number, number]

function apply(bytes: Buffer, [what, where, byte]: Change): Buffer {
  if (bytes.length === 0) return Buffer.from([byte])
  const at = where % bytes.length
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  if (what === 'cut') return before
  if (what === 'drop') return Buffer.concat([before, after.subarray(1)])
  if (what === 'insert') return Buffer.concat([before, Buffer.from([byte]), after])
  if (what === 'double') return Buffer.concat([before, after.subarray(0, 8), after])
  return Buffer.concat([before, Buffer.from([byte]), after.subarray(1)])
}

/** The number of bytes received so far, after each portion; at the end, all bytes. */
export function portionsOf(): fc.Arbitrary<(length: number) => readonly number[]> {
  const sizes = fc.oneof(
    fc.constant([Number.MAX_SAFE_INTEGER]),
    fc.constant([1]),
    fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 }),
  )
  return sizes.map((steps) => (length) => {
    const ends: number[] = []
    for (let end = 0, turn = 0; end < length; turn++) {
      end = Math.min(length, end + (steps[turn % steps.length] as number))
      ends.push(end)
    }
    return ends.length === 0 ? [0] : ends
  })
}
