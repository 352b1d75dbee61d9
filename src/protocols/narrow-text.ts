const WIDE = /[\u0100-\uffff]/
const ALL_WIDE = /[\u0100-\uffff]/g

/**
 * Writes a string with one byte per code unit, for readers that look only for ASCII: `instead`
 * replaces wider units. Reading each unit from the string takes twice as long.
 */
export function writeNarrow(text: string, bytes: Buffer, offset: number, instead: string): void {
  // For V8, this check costs nothing if the string is ASCII.
  bytes.write(WIDE.test(text) ? text.replaceAll(ALL_WIDE, instead) : text, offset, 'latin1')
}
