/** Something in a text that must not be seen: where it is, and what stands in its place. */
export interface Finding {
  readonly start: number
  readonly end: number
  readonly recognizer: Recognizer
}

export interface Recognizer {
  readonly name: string
  /** What stands in its place: `<EMAIL_ADDRESS>`. */
  readonly mask: string
  /** The longest that it finds, in UTF-16 units. What it decides depends on no more than this. */
  readonly maxLength: number
  /** It may find what spans any letters, so that no text is let go before `maxLength`. */
  readonly crossesBreaks?: boolean
  /** The first finding at or after `from`. It may look at the two letters before and after it. */
  find(text: string, from: number): { readonly start: number; readonly end: number } | undefined
}

function define(
  name: string,
  mask: string,
  maxLength: number,
  pattern: RegExp,
  isValid: (found: string) => boolean = () => true,
): Recognizer {
  return {
    name,
    mask,
    maxLength,
    find(text, from) {
      pattern.lastIndex = from
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        const [found] = match
        if (found.length <= maxLength && isValid(found)) {
          return { start: match.index, end: match.index + found.length }
        }
        pattern.lastIndex = match.index + 1
      }
      return undefined
    },
  }
}

/*
 * Repetitions are bounded, and bounds stand before and after each pattern, so that the cost of a
 * search is in proportion to the text whatever is in it. No pattern has a space beside a small
 * letter, and none of `,;!?"<>{}` or a line end: there a stream can be cut (./masker.ts).
 */

export const RECOGNIZERS: readonly Recognizer[] = [
  define(
    'email',
    '<EMAIL_ADDRESS>',
    200,
    /(?<![\w.%+-])[\w.%+-]{1,64}@(?:[a-z0-9-]{1,40}\.){1,3}[a-z]{2,12}(?![\w-])/gi,
  ),
  define(
    'apiKey',
    '<API_KEY>',
    200,
    // A key that is too long is masked as far as it is looked at: better than not at all.
    /(?<![\w-])(?:sk-[\w-]{20,180}|gh[pousr]_[a-zA-Z0-9]{36,100}|github_pat_\w{22,100}|xox[abprs]-[\w-]{10,100}|glpat-[\w-]{20,40}|hf_[a-zA-Z0-9]{30,40}|(?:AKIA[0-9A-Z]{16}|AIza[\w-]{35})(?![\w-]))/g,
  ),
  define(
    'iban',
    '<IBAN>',
    42,
    /(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)/g,
    isIban,
  ),
  define('creditCard', '<CREDIT_CARD>', 37, /(?<![\w-])(?:\d[ -]?){12,18}\d(?![\w-])/g, isCard),
  define(
    'ssn',
    '<SSN>',
    11,
    /(?<![\w-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])/g,
  ),
  define('caSin', '<CA_SIN>', 11, /(?<![\w-])[1-79]\d{2}([- ])\d{3}\1\d{3}(?![\w-])/g, (found) =>
    passesLuhn(found.replace(/\D/g, '')),
  ),
  define(
    'phoneNumber',
    '<PHONE_NUMBER>',
    24,
    /(?<![\w.+-])(?<!\d )(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)|\d{2,4})[ .-]?\d{3,4}[ .-]\d{3,4}(?![\w-]|[ .]\d)/g,
    (found) => {
      const { length } = found.replace(/\D/g, '')
      return length >= (found.startsWith('+') ? 9 : 10) && length <= 15
    },
  ),
]

export function recognizerOf(name: string): Recognizer | undefined {
  return RECOGNIZERS.find((recognizer) => recognizer.name === name)
}

function isCard(found: string): boolean {
  const digits = found.replace(/\D/g, '')
  return digits.length >= 13 && !/^(\d)\1+$/.test(digits) && passesLuhn(digits)
}

function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 48
    const doubled = at % 2 === 0 ? digit : digit * 2
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** ISO 13616: the first four letters go to the end, letters become numbers, and the rest is 1. */
function isIban(found: string): boolean {
  const plain = found.replaceAll(' ', '')
  if (plain.length < 15 || plain.length > 34) return false
  let rest = 0
  for (const letter of plain.slice(4) + plain.slice(0, 4)) {
    const value = Number.parseInt(letter, 36)
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97
  }
  return rest === 1
}
