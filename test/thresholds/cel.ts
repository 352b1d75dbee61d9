import type { Group } from './threshold.ts'

const FULL = Number.POSITIVE_INFINITY

const RULES: Group = {
  name: 'rules',
  tests: [
    'src/cel/rules/*.test.ts',
    'src/policies/authorization/*.test.ts',
    'test/fuzz/quick-rules.test.ts',
  ],
  except: ['reads typical rules'],
  runs: 1_500,
  thresholds: [
    {
      file: 'src/cel/rules/any-set.ts',
      tests: ['all.length < WORTH_INDEXING', 'members.length < WORTH_INDEXING'],
      switches: 'one rule after the other → index',
      values: [0, 1, 4],
    },
    {
      file: 'src/cel/rules/any-set.ts',
      tests: ['key.length > MAX_TEXT', 'text.length <= MAX_TEXT'],
      declaredIn: 'src/cel/rules/flat-table.ts',
      switches: 'table in one buffer → Map and radix tree',
    },
    {
      file: 'src/cel/rules/any-set.ts',
      tests: ['byKey.size < emit.flatFrom'],
      constant: 'MANY',
      declaredIn: 'src/cel/rules/rule-set.ts',
      switches: 'Map and radix tree → table in one buffer',
    },
    {
      file: 'src/policies/authorization-decision.ts',
      tests: ['policies.reduce((sum, { value }) => sum + value.rules.length, 0) <= FEW'],
      switches: 'rules compiled on the first request → when the program is built',
    },
    {
      file: 'src/cel/rules/any-set.ts',
      tests: ['lengths.size > MAX_LENGTHS'],
      declaredIn: 'src/cel/rules/flat-lookups.ts',
      switches: 'look-up of each length of prefix → radix tree',
    },
    {
      file: 'src/policies/quick-rules.ts',
      tests: ['list.length > MAX_RULES'],
      switches: 'rules read by hand → by the schema',
      values: [0, 1, 64],
    },
    {
      file: 'src/policies/quick-rules.ts',
      tests: ['expression.length > MAX_LENGTH'],
      switches: 'rules read by hand → by the schema',
      values: [0, 1, 16_384],
    },
  ],
}

const EXPRESSIONS: Group = {
  name: 'expressions',
  tests: [
    'test/fuzz/cel-differential.test.ts',
    'src/cel/rules/rule-set.test.ts',
    'src/cel/values/*.test.ts',
    'src/cel/library/s*.test.ts',
    'src/cel/library/json.test.ts',
    'src/cel/library/conversions.test.ts',
  ],
  except: ['does not search once the budget is spent', 'counts indexed lookups'],
  thresholds: [
    {
      file: 'src/cel/emit/generate.ts',
      tests: ['templates.size < MAX_TEMPLATES'],
      switches: 'generated code → closures',
      values: [1, 2, FULL],
    },
    {
      file: 'src/cel/emit/generate.ts',
      tests: ['made - usedAt > RECENT'],
      switches: 'a shape is kept → removed from the cache',
      values: [FULL, -1, -1],
    },
    {
      file: 'src/cel/emit/inline.ts',
      tests: ['constant.length < 256'],
      switches: '=== → equal()',
    },
    {
      file: 'src/cel/emit/source-atoms.ts',
      tests: ['(argument.value as string).length < 256'],
      switches: 'method of the string → function that charges for its length',
    },
    {
      file: 'src/cel/library/number-text.ts',
      tests: ['text.length < 16'],
      switches: 'Number → BigInt',
      values: [0, 1, 16],
    },
    {
      file: 'src/cel/syntax/number-literal.ts',
      tests: ['digits.length < 16'],
      switches: 'Number → BigInt',
      values: [0, 1, 16],
    },
    {
      file: 'src/cel/values/text-search.ts',
      tests: ['length < SHORT_TEXT', 'a.length >= SHORT_TEXT', 'text.length < SHORT_TEXT'],
      switches: 'free → charged by length',
    },
    {
      file: 'src/cel/values/text-search.ts',
      tests: ['text.length < LONG_TEXT', 'text.length >= LONG_TEXT'],
      switches: "JavaScript's search → search with a bound",
    },
    {
      file: 'src/cel/values/text-search.ts',
      tests: ['part.length < SHORT_PART'],
      switches: "JavaScript's search → by what both lengths cost",
    },
    {
      file: 'src/cel/values/text-search.ts',
      tests: ['part.length * text.length <= MAX_COMPARED'],
      switches: "JavaScript's search → search with a table",
    },
    {
      file: 'src/cel/values/text.ts',
      tests: ['text.length <= SHORT', 'index > SHORT', 'end > SHORT'],
      switches: 'characters are counted → pairs are searched first',
    },
    {
      file: 'src/cel/values/json-plain.ts',
      tests: ['end - start > SHORT'],
      switches: 'a name is cut out → parsed by JSON.parse',
    },
    {
      file: 'src/cel/values/ledger.ts',
      tests: ['this.#documents.size < MAX_DOCUMENTS', 'this.#texts.size < MAX_DOCUMENTS'],
      switches: 'what was read is kept → read again',
    },
    {
      file: 'src/cel/values/time-zone.ts',
      tests: ['known.size >= KNOWN_LIMIT'],
      switches: 'time zones are kept → read again',
    },
  ],
}

const PATTERNS: Group = {
  name: 'patterns',
  tests: ['src/cel/library/regex*.test.ts'],
  except: [
    'reads nothing if no match can end',
    'reads a long string in steps, each character once',
    'terminates if every character leads to a new state',
    'evicts dynamic patterns, with unchanged results and cost',
  ],
  thresholds: [
    {
      file: 'src/cel/library/regex-automaton.ts',
      tests: ['limit - at < WORTH_LOADING'],
      switches: 'by character → by byte, from a table',
      // A piece of one unit could be half a character.
      values: [2, 3, FULL],
    },
    {
      file: 'src/cel/library/regex-bytes.ts',
      tests: ['alphabet.size > MAX_LETTERS'],
      switches: 'by byte → by character',
      values: [0, 1, 14],
    },
    {
      file: 'src/cel/library/regex-bytes.ts',
      tests: ['needed > MAX_CELLS'],
      switches: 'rows in the table → by character',
      values: [1 << 20, 20, 600],
    },
    {
      file: 'src/cel/library/regex-automaton.ts',
      constant: 'UNLOADED',
      tests: [],
      switches: 'in one piece → in several',
      values: [16, 64, FULL],
    },
    {
      file: 'src/cel/library/regex-pattern.ts',
      tests: ['remembered.size > MAX_REMEMBERED'],
      switches: 'a pattern is kept → compiled again',
    },
    {
      file: 'src/cel/library/regex-span.ts',
      tests: ['piece === STEP'],
      constant: 'STEP',
      switches: 'one step → several',
      values: [256, 512, FULL],
    },
    {
      file: 'src/cel/library/regex-span.ts',
      tests: [],
      constant: 'SHORT_PIECE',
      switches: 'one piece before characters are skipped → several',
      values: [16, 32, FULL],
    },
    {
      file: 'src/cel/library/regex-span.ts',
      tests: ['ranges.length > 2 * MAX_RANGES'],
      constant: 'MAX_RANGES',
      switches: 'characters are skipped → all are read',
    },
  ],
}

export const CEL: readonly Group[] = [RULES, EXPRESSIONS, PATTERNS]
