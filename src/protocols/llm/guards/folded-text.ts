/*
 * A model reads texts that are not equal to what a pattern says: full-width letters, letters of
 * other scripts that look alike, invisible characters in between, escapes of JSON. Guards therefore
 * search copies of a text too, whose characters know where they come from.
 */

/** A copy of a text: each of its UTF-16 units comes from a range of the original. */
export interface FoldedText {
  readonly text: string
  /** Where the range of a unit begins, and the position after it. */
  startOf(at: number): number
  endOf(at: number): number
}

/** Escapes within escapes: JSON in a string in JSON in a string. */
const MAX_ESCAPED = 3

/** Anything but ASCII, except control characters, and Latin letters. */
const UNUSUAL = /[^\t\n\f\r -~¡-§©«®°±¶»¿-ÿ]/
const ESCAPES = /\\["\\/bfnrtu]/
const CONTROLS = Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code)).filter(
  (letter) => UNUSUAL.test(letter),
)
/** In a short text, one look at each character takes less than one search for each control. */
const SHORT = 256

/** True if the text has no other reading: most texts. */
export function isPlain(text: string): boolean {
  const isAscii = text.length > SHORT && Buffer.byteLength(text) === text.length
  const isUnusual = isAscii ? CONTROLS.some((one) => text.includes(one)) : UNUSUAL.test(text)
  return !isUnusual && !(text.includes('\\') && ESCAPES.test(text))
}

/** Other readings of a text, each different from it. */
export function foldingsOf(text: string): readonly FoldedText[] {
  const all: FoldedText[] = []
  if (isPlain(text)) return all
  addFolded(all, text, undefined)
  let own: FoldedText | undefined
  for (let depth = 0; depth < MAX_ESCAPED; depth++) {
    own = unescaped(own?.text ?? text, own)
    if (own === undefined) break
    all.push(own)
    addFolded(all, own.text, own)
  }
  return all
}

function addFolded(all: FoldedText[], text: string, origin: FoldedText | undefined): void {
  const folded = folding(text, origin, false)
  if (folded !== undefined) all.push(folded)
  if (!TAG.test(text)) return
  const tagged = folding(text, origin, true)
  if (tagged !== undefined) all.push(tagged)
}

/** Tag characters: invisible copies of ASCII, which models can read. */
const TAG = /[\u{e0020}-\u{e007e}]/u
const TAGS = 0xe0000

/** Where the units of a copy come from: runs of as many units, and ranges with another length. */
class Copied implements FoldedText {
  text = ''
  readonly #origin: FoldedText | undefined
  /** By run or range: its first unit, and where it begins and ends; a run has no end. */
  readonly #units: number[] = []
  readonly #starts: number[] = []
  readonly #ends: number[] = []

  constructor(origin: FoldedText | undefined) {
    this.#origin = origin
  }

  run(unit: number, start: number): void {
    this.range(unit, start, RUN)
  }

  range(unit: number, start: number, end: number): void {
    // What came before may have had no unit of its own.
    if (this.#units.at(-1) === unit) {
      this.#units.pop()
      this.#starts.pop()
      this.#ends.pop()
    }
    this.#units.push(unit)
    this.#starts.push(start)
    this.#ends.push(end)
  }

  startOf(at: number): number {
    const index = this.#indexOf(at)
    const start = this.#starts[index] as number
    const own = this.#ends[index] === RUN ? start + at - (this.#units[index] as number) : start
    return this.#origin === undefined ? own : this.#origin.startOf(own)
  }

  endOf(at: number): number {
    const index = this.#indexOf(at)
    const end = this.#ends[index] as number
    const run = (this.#starts[index] as number) + at - (this.#units[index] as number) + 1
    const own = end === RUN ? run : end
    return this.#origin === undefined ? own : this.#origin.endOf(own - 1)
  }

  #indexOf(at: number): number {
    let [low, high] = [0, this.#units.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((this.#units[middle] as number) <= at) low = middle
      else high = middle
    }
    return low
  }
}

const RUN = -1

const BACKSLASH = 92
/** What the character after a backslash means; of `u` follows a number. */
const ESCAPED: ReadonlyMap<number, number> = new Map(
  Object.entries({
    b: '\b',
    f: '\f',
    n: '\n',
    r: '\r',
    t: '\t',
    '"': '"',
    '\\': '\\',
    '/': '/',
  }).map(([short, meant]) => [short.charCodeAt(0), meant.charCodeAt(0)]),
)
const HEX = /^[0-9a-fA-F]{4}$/

/** Undefined if nothing is escaped. */
function unescaped(text: string, origin: FoldedText | undefined): FoldedText | undefined {
  if (!text.includes('\\')) return undefined
  const copied = new Copied(origin)
  copied.run(0, 0)
  const out = new Uint16Array(text.length)
  let units = 0
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at)
    if (unit !== BACKSLASH) {
      out[units++] = unit
      at++
      continue
    }
    const meant = ESCAPED.get(text.charCodeAt(at + 1))
    const hex = text[at + 1] === 'u' ? text.slice(at + 2, at + 6) : ''
    const isHex = HEX.test(hex)
    if (meant === undefined && !isHex) {
      out[units++] = unit
      at++
      continue
    }
    const end = at + (isHex ? 6 : 2)
    copied.range(units, at, end)
    out[units++] = meant ?? Number.parseInt(hex, 16)
    copied.run(units, end)
    at = end
  }
  if (units === text.length) return undefined
  copied.text = Buffer.from(out.buffer, 0, 2 * units).toString('utf16le')
  return copied
}

/** Undefined if no character has another reading. */
function folding(
  text: string,
  origin: FoldedText | undefined,
  readsTags: boolean,
): FoldedText | undefined {
  const copied = new Copied(origin)
  copied.run(0, 0)
  let out = new Uint16Array(text.length + ROOM)
  let units = 0
  let isChanged = false
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at)
    const alone = UNITS[unit] || (UNITS[unit] = findUnit(unit))
    if (alone !== MORE && !isMark(text, at + 1)) {
      isChanged ||= alone !== unit
      out[units++] = alone
      at++
      continue
    }
    const end = endOfCluster(text, at)
    const folded = foldedCluster(text.slice(at, end), readsTags)
    if (out.length < units + folded.length + text.length - end) out = grown(out, folded.length)
    copied.range(units, at, end)
    for (let index = 0; index < folded.length; index++) out[units++] = folded.charCodeAt(index)
    isChanged ||= folded !== text.slice(at, end)
    copied.run(units, end)
    at = end
  }
  if (!isChanged) return undefined
  copied.text = Buffer.from(out.buffer, 0, 2 * units).toString('utf16le')
  return copied
}

/** Units for characters that are read as several. */
const ROOM = 64

function grown(units: Uint16Array<ArrayBuffer>, more: number): Uint16Array<ArrayBuffer> {
  const own = new Uint16Array(2 * units.length + more)
  own.set(units)
  return own
}

/** A character with the marks that follow it. */
function endOfCluster(text: string, at: number): number {
  const code = text.codePointAt(at) as number
  return endOfMarks(text, at + (code > 0xffff ? 2 : 1))
}

function foldedCluster(cluster: string, readsTags: boolean): string {
  const code = cluster.codePointAt(0) as number
  if (readsTags && code > TAGS && code < TAGS + 127) return String.fromCharCode(code - TAGS)
  const isAlone = cluster.length === (code > 0xffff ? 2 : 1)
  return isAlone ? foldedPoint(code) : withoutMarks(cluster.normalize('NFKC'))
}

/** By unit: what it is read as, if that is one unit and does not depend on others. */
const UNITS = new Uint16Array(0x10000)
/** Neither: a mark, half of a character, or read as several or none. Not a character. */
const MORE = 0xffff

function findUnit(unit: number): number {
  if (kindOf(unit) === MARKS || kindOf(unit) === HALF) return MORE
  const folded = foldedPoint(unit)
  return folded.length === 1 ? folded.charCodeAt(0) : MORE
}

/** Marks in a row that are read as one character: Unicode's own limit of its safe streams. */
const MAX_MARKS = 30
const MARK = /[\p{M}ᅠ-ᇿ]/u

/** Units of text: marks, halves of a character, and others. */
const [MARKS, HALF, OTHER] = [1, 2, 3] as const
/** By unit, once it has been needed; zero before. */
const KINDS = new Uint8Array(0x10000)

function kindOf(unit: number): number {
  return KINDS[unit] || (KINDS[unit] = findKind(unit))
}

function findKind(unit: number): number {
  if (unit >= 0xd800 && unit <= 0xdfff) return HALF
  const letter = String.fromCharCode(unit)
  return MARK.test(letter) ? MARKS : OTHER
}

const FIRST_MARK = 0x300

function isMark(text: string, at: number): boolean {
  const unit = at < text.length ? text.charCodeAt(at) : 0
  // Most text has none.
  if (unit < FIRST_MARK) return false
  const kind = kindOf(unit)
  if (kind !== HALF) return kind === MARKS
  return MARK.test(String.fromCodePoint(text.codePointAt(at) as number))
}

/** Normalizing takes the square of the number of marks: there must not be many. */
function endOfMarks(text: string, from: number): number {
  let at = from
  for (let marks = 0; marks < MAX_MARKS && isMark(text, at); marks++) {
    at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1
  }
  return at
}

/** Folds a normalized cluster: marks that belong to no letter of their own are only ornament. */
function withoutMarks(cluster: string): string {
  let out = ''
  for (const letter of cluster) {
    if (!ORNAMENT.test(letter)) out += foldedPoint(letter.codePointAt(0) as number)
  }
  return out
}

const ORNAMENT = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]/

/** What characters are read as, once they have been needed. */
const POINTS = new Map<number, string>()
const MAX_POINTS = 1 << 14

function foldedPoint(code: number): string {
  const known = POINTS.get(code)
  if (known !== undefined) return known
  const folded = foldLetter(String.fromCodePoint(code))
  if (POINTS.size >= MAX_POINTS) POINTS.clear()
  POINTS.set(code, folded)
  return folded
}

function foldLetter(letter: string): string {
  if (INVISIBLE.test(letter) || isControl(letter)) return ''
  let out = ''
  for (const own of letter.normalize('NFKC')) out += meaningOf(own)
  return out
}

/** Characters without width. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\ufffc\ufffd]/u

function isControl(letter: string): boolean {
  return /\p{Cc}/u.test(letter) && !/\s/.test(letter)
}

function meaningOf(letter: string): string {
  const alike = ALIKE.get(letter)
  if (alike !== undefined) return alike
  if (letter < '\u0080') return letter
  if (/[\s\u2800]/.test(letter)) return ' '
  if (/[\p{Pd}\u2212]/u.test(letter)) return '-'
  return /\p{Nd}/u.test(letter) ? digitOf(letter) : letter
}

/** Decimal digits of a script follow each other, from zero to nine. */
function digitOf(letter: string): string {
  const code = letter.codePointAt(0) as number
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++
  return String(value)
}

/** Letters of other scripts, and what people and models read them as. */
const ALIKE: ReadonlyMap<string, string> = new Map(
  [
    ['АВЕЅІЈКМНОРСТУХҮԌԚԜҺ', 'ABESIJKMHOPCTYXYGQWh'],
    ['авеѕіјкмнорсԁһтухүԛԝӏьгп', 'abesijkmhopcdhtyxyqwlbrn'],
    ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ', 'ABEZHIKMNOPTYXCj'],
    ['αεικνορτυχγϲ', 'aeiKvoptuxyc'],
    ['ıȷɑɡɩɪʏʀɴʙʟօսհոցքԍℓ∕⁄∣ǀ․·•⁃ⲟⲣⲥⅼ', 'ijagiiyRNBLouhnqpGl//||...-opcl'],
    ['ⵏⲤⲞⲢᎪᏴᏟᎬᎻᏦᎷᏢᎡᎢᏙᏃ', 'lCOPABCEHKMPRTVZ'],
  ].flatMap(([from = '', to = '']) => {
    const letters = [...to]
    return [...from].map((letter, at) => [letter, letters[at] ?? letter] as const)
  }),
)
