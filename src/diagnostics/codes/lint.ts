import { defineCodes } from './define.ts'
import { LINT_PLACE_CODES } from './lint-places.ts'
import { LINT_RULE_CODES } from './lint-rules.ts'
import { LINT_SET_CODES } from './lint-sets.ts'
import { LINT_TEXT_CODES } from './lint-texts.ts'
import { LINT_TOOL_CODES } from './lint-tools.ts'

const ALL = [
  ...LINT_PLACE_CODES,
  ...LINT_RULE_CODES,
  ...LINT_SET_CODES,
  ...LINT_TEXT_CODES,
  ...LINT_TOOL_CODES,
]

export const LINT_CODES = defineCodes(
  'AZ0',
  'Policies (portcullis lint)',
  ALL.toSorted((a, b) => (a.code < b.code ? -1 : 1)),
)
