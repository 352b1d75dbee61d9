import { list, type Structural, text, type Validation, validated } from './structural.ts'

const open = 'self.conditional.filter(entry, !has(entry.condition)).size()'
const last = '!has(self.conditional[self.conditional.size() - 1].condition)'

export const LAST_MAY_BE_OPEN: Validation = {
  rule: `!has(self.conditional) || ${open} == 0 || (${open} == 1 && ${last})`,
  message: 'only the last entry of conditional can omit condition',
}

const condition = text(
  'A CEL expression: when the entry applies. Optional in the last entry, which then applies to all other requests.',
  { maxLength: 16_384 },
)

/** A list of policy entries, each with its condition. */
export function conditionalList(plain: Structural): Structural {
  const entry: Structural = {
    ...plain,
    description: 'An entry and its condition.',
    properties: { condition, ...plain.properties },
  }
  const what = 'Alternatives: the first entry whose condition is true applies, if any.'
  return list(what, entry, 1, 16)
}

/**
 * A plain policy, or `conditional` with several entries. Defaults that the API server would set
 * next to `conditional` are set by the reader of the policy instead.
 */
export function orConditional(plain: Structural): Structural {
  const { required = [], 'x-kubernetes-validations': rules = [], ...rest } = plain
  const own = Object.entries(plain.properties ?? {})
  const others = own.map(([key]) => `!has(self.${key})`).join(' && ')
  const alone: Validation = {
    rule: `!has(self.conditional) || (${others})`,
    message: 'conditional cannot be combined with other fields: use its last entry as the default',
  }
  const isComplete: Validation = {
    rule: `has(self.conditional) || (${required.map((key) => `has(self.${key})`).join(' && ')})`,
    message: `${required.join(', ')} or conditional must be set`,
  }
  return {
    ...rest,
    properties: {
      ...Object.fromEntries(own.map(([key, member]) => [key, withoutDefault(member)])),
      conditional: conditionalList(plain),
    },
    ...validated([
      alone,
      LAST_MAY_BE_OPEN,
      ...(required.length === 0 ? [] : [isComplete]),
      ...rules.map(({ rule, message }) => ({
        rule: `has(self.conditional) || (${rule})`,
        message,
      })),
    ]),
  }
}

function withoutDefault({ default: _, ...rest }: Structural): Structural {
  return rest
}
