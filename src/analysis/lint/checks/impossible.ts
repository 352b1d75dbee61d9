import type { Term } from '../../../cel/check/term.ts'
import type { PlacedRule } from '../../placed-rule.ts'
import { nameOf } from '../../symbolic/attribute-tree.ts'
import { attributeOf } from '../../symbolic/leaves.ts'
import type { Check } from '../check.ts'
import { aboutRule, type Finding, isClosedIfNever } from '../finding.ts'
import { claimPathOf, signedLeaves, termsOf } from '../terms.ts'

interface Problem {
  readonly message: string
  readonly hint: string
}

/** AZ022: a method, host or path compared with a string that it can never be. */
export const impossibleTexts: Check = function* ({ rules }) {
  for (const { placed } of rules) {
    const found = impossibleIn(placed)
    if (found !== undefined) yield found
  }
}

/** The first comparison of a rule that no request can satisfy. */
export function impossibleIn(placed: PlacedRule): Finding | undefined {
  const { term: whole } = placed.condition
  for (const { term } of signedLeaves(whole)) {
    const problem = problemOf(term)
    if (problem === undefined) continue
    const isNever = !canBe(whole, true)
    const effect = isNever ? ', so this rule never matches' : ''
    const severity = isNever ? 'error' : 'warning'
    const said = {
      code: 'AZ022',
      severity,
      ...problem,
      message: `${problem.message}${effect}`,
    } as const
    const isClosed = isNever && isClosedIfNever(placed)
    return { diagnostic: aboutRule(said, placed, term), isClosed }
  }
  return undefined
}

/** Whether a request may give the term this result, judging only by such comparisons. */
function canBe(term: Term, wanted: boolean): boolean {
  switch (term.kind) {
    case 'constant':
      return term.value === wanted
    case 'not':
      return canBe(term.operand, !wanted)
    case 'and':
    case 'or': {
      const sides = [canBe(term.left, wanted), canBe(term.right, wanted)]
      return (term.kind === 'and') === wanted ? sides.every(Boolean) : sides.some(Boolean)
    }
    case 'conditional':
      return canBe(term.whenTrue, wanted) || canBe(term.whenFalse, wanted)
    default: {
      if (problemOf(term) === undefined) return true
      return term.kind === 'equal' && term.negated ? wanted : !wanted
    }
  }
}

const SUBJECTS: Readonly<Record<string, (text: string, isPrefix: boolean) => Problem | undefined>> =
  {
    'request.method': methodProblem,
    'request.host': hostProblem,
    'request.path': pathProblem,
  }

/** `x == 'text'`, `x in ['text', …]` if no string is possible, and `x.startsWith('text')`. */
function problemOf(term: Term): Problem | undefined {
  const [subject, texts] = comparisonOf(term) ?? []
  if (subject === undefined || texts === undefined || texts.length === 0) return undefined
  const check = SUBJECTS[nameOf(attributeOf(subject)?.steps ?? [])]
  const isPrefix = term.kind === 'call'
  const problems = texts.map((text) => check?.(text, isPrefix))
  // If there are several strings, one possible string is enough.
  return problems.includes(undefined) ? undefined : problems[0]
}

/** The term that is compared with constant strings, and the strings. */
export function comparisonOf(term: Term): readonly [Term, readonly string[]] | undefined {
  if (term.kind === 'equal') {
    const [constant, subject] =
      term.left.kind === 'constant' ? [term.left, term.right] : [term.right, term.left]
    if (constant.kind !== 'constant' || typeof constant.value !== 'string') return undefined
    return [subject, [constant.value]]
  }
  if (term.kind === 'member' && term.container.kind === 'constant') {
    const { value } = term.container
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) return undefined
    return [term.element, value]
  }
  if (term.kind !== 'call' || term.name !== 'startsWith') return undefined
  const [subject, prefix] = term.args
  if (subject === undefined || prefix?.kind !== 'constant') return undefined
  return typeof prefix.value === 'string' ? [subject, [prefix.value]] : undefined
}

/** The HTTP parser rejects methods with lowercase letters. */
function methodProblem(text: string): Problem | undefined {
  if (!/[a-z]/.test(text)) return undefined
  return {
    message: 'methods are case-sensitive, and no request has a method with lowercase letters',
    hint: `write \`'${text.toUpperCase()}'\``,
  }
}

function hostProblem(text: string, isPrefix: boolean): Problem | undefined {
  const name = text.toLowerCase().replace(/:\d*$/, '')
  const hint = `write \`'${name}'\``
  if (text.includes('://')) {
    const host = /:\/\/([^/:]*)/.exec(name)?.[1] ?? ''
    return { message: '`request.host` is a hostname, not a URL', hint: `write \`'${host}'\`` }
  }
  if (/[A-Z]/.test(text)) return { message: '`request.host` is always lowercase', hint }
  if (!isPrefix && /^[^:[\]]*:\d*$/.test(text)) {
    return { message: '`request.host` never includes a port', hint }
  }
  if (!isPrefix && text.includes('*')) {
    const suffix = name.replace(/^\*/, '')
    return {
      message: '`==` compares `*` literally, and no hostname contains it',
      hint: `write \`request.host.endsWith('${suffix}')\``,
    }
  }
  return undefined
}

function pathProblem(text: string, isPrefix: boolean): Problem | undefined {
  if (text === '') return undefined
  if (text === '*') {
    return {
      message: 'no path is `*`: `OPTIONS *` is rejected',
      hint: 'remove the path from the condition to match every path',
    }
  }
  if (!text.startsWith('/')) {
    return { message: 'a path begins with `/`', hint: `write \`'/${text}'\`` }
  }
  if (/[?#]/.test(text)) {
    const [path = ''] = text.split(/[?#]/)
    return {
      message: '`request.path` does not include the query',
      hint: `compare with \`'${path}'\`, and compare the query with \`request.query\``,
    }
  }
  if (/\/\.\.?\//.test(text) || (!isPrefix && /\/\.\.?$/.test(text))) {
    return {
      message: 'dot segments are resolved before rules are evaluated',
      hint: 'write the path without dot segments',
    }
  }
  return undefined
}

/** AZ023: a string mistaken for a pattern, which only `matches` supports. */
export const globs: Check = function* ({ rules }) {
  for (const { placed } of rules) {
    for (const { term } of signedLeaves(placed.condition.term)) {
      const [subject, texts = []] = comparisonOf(term) ?? []
      const name = nameOf((subject && attributeOf(subject)?.steps) ?? [])
      const text = texts.find((one) => one.length > 1 && /[*]$|\/\*\//.test(one))
      if (name !== 'request.path' || text === undefined) continue
      const prefix = text.slice(0, text.indexOf('*'))
      const said = {
        code: 'AZ023',
        severity: 'warning',
        message: `\`${text}\` is compared literally: \`*\` is not a wildcard`,
        hint: `write \`request.path.startsWith('${prefix}')\`, or use \`matches\` with a pattern`,
      } as const
      yield { diagnostic: aboutRule(said, placed, term) }
      break
    }
  }
}

/** AZ024: `jwt.claims.sub`, as written for other products. */
export const nestedClaims: Check = function* ({ rules }) {
  for (const { placed } of rules) {
    for (const term of termsOf(placed.condition.term)) {
      const [field, ...claim] = claimPathOf(term) ?? []
      if (field !== 'claims') continue
      const said = {
        code: 'AZ024',
        severity: 'warning',
        message: `\`jwt\` contains the claims directly: this reads a claim named \`claims\``,
        hint:
          claim.length > 0
            ? `write \`${nameOf(['jwt', ...claim])}\``
            : 'remove `claims`: `has(jwt.sub)`, `jwt.sub`',
      } as const
      yield { diagnostic: aboutRule(said, placed, term) }
      break
    }
  }
}
