import type { Term } from '../../../cel/check/term.ts'
import type { Match } from '../../../model/route.ts'
import { nameOf } from '../../symbolic/attribute-tree.ts'
import { negation } from '../../symbolic/formula.ts'
import { type Attribute, attributeOf } from '../../symbolic/leaves.ts'
import type { Check } from '../check.ts'
import { aboutRule, type Finding } from '../finding.ts'
import { matchesOf, type RuleUse, type SurveyedPoint } from '../survey.ts'
import { signedLeaves, subjectOf, termsOf, testedBy } from '../terms.ts'

/** AZ002: a Deny rule that does not match requests without the attribute that it compares. */
export const openDeny: Check = function* ({ rules }) {
  for (const use of rules) {
    if (use.placed.rule.action !== 'Deny') continue
    const found = absentInDeny(use)
    if (found !== undefined) yield found
  }
}

function absentInDeny(use: RuleUse): Finding | undefined {
  const { term } = use.placed.condition
  const tested = new Set([...termsOf(term)].flatMap((one) => testedNames(one)))
  for (const leaf of signedLeaves(term)) {
    const attribute = subjectOf(leaf.term)
    if (attribute === undefined || !isNegative(leaf.term, leaf.wanted)) continue
    // A rule that tests whether it is present already takes its absence into account.
    if (tested.has(nameOf(attribute.steps))) continue
    const slips = use.at.filter((seen) => slipsThrough(seen, attribute))
    if (slips.length === 0) continue
    const name = nameOf(attribute.steps)
    return {
      diagnostic: aboutRule(
        {
          code: 'AZ002',
          severity: 'error',
          message: `a request without \`${name}\` is not denied: comparing a missing value is an error, and a Deny rule that fails does not match`,
          hint: `use a Require rule instead, for example \`${positive(use.placed.rule.expression, leaf.term)}\``,
        },
        use.placed,
        leaf.term,
      ),
    }
  }
  return undefined
}

/** A condition that requires something to be false: `x != 'a'`, `!(x in […])`, `!x`. */
function isNegative(term: Term, wanted: boolean): boolean {
  if (isBare(term)) return !wanted
  if (term.kind === 'equal') return term.negated === wanted
  if (term.kind === 'member' || term.kind === 'call' || term.kind === 'loop') return !wanted
  return false
}

/** No rule denies a request without the attribute, and the rules as a whole admit it. */
function slipsThrough(seen: SurveyedPoint, attribute: Attribute): boolean {
  const { placed, reasoning, isWhole } = seen
  if (!isWhole || isMatched(seen, attribute)) return false
  const has = reasoning.isThere(attribute, placed)
  const lacks = negation(has)
  if (!reasoning.isImpossible(lacks, reasoning.matches(placed))) return false
  // An attribute that is never present is reported as such.
  if (reasoning.isImpossible(has)) return false
  return reasoning.solve(lacks, reasoning.admitted()).kind === 'possible'
}

/** Whether the route matches only requests that have the header. */
function isMatched({ placed, point }: SurveyedPoint, { steps }: Attribute): boolean {
  const [variable, field, name, ...rest] = steps
  if (variable !== 'request' || field !== 'headers' || rest.length > 0) return false
  const matches = matchesOf([placed], point.where)
  const isNamed = ({ headers }: Match) => headers.some((one) => one.name.toLowerCase() === name)
  return matches.length > 0 && matches.every(isNamed)
}

function testedNames(term: Term): readonly string[] {
  const attribute = testedBy(term)
  if (attribute === undefined) return []
  // `has(jwt.a.b)` also takes the absence of `jwt.a` into account.
  return attribute.steps.map((_, index) => nameOf(attribute.steps.slice(0, index + 1)))
}

/** Whether an attribute is a condition by itself. */
function isBare(term: Term): boolean {
  return testedBy(term) === undefined && attributeOf(term) !== undefined
}

function positive(text: string, term: Term): string {
  const own = text.slice(term.start, term.end)
  if (isBare(term)) return `${own} == true`
  return term.kind === 'equal' && term.negated ? own.replace('!=', '==') : own
}

/** AZ006: an Allow or Require rule that is true for requests without the attribute it tests. */
export const openGrant: Check = function* ({ rules }) {
  for (const use of rules) {
    if (use.placed.rule.action === 'Deny') continue
    const { term } = use.placed.condition
    for (const test of absencesIn(term)) {
      const attribute = testedBy(test)
      if (attribute === undefined) continue
      const isOpen = use.at.some(({ placed, reasoning, isWhole }) => {
        if (!isWhole) return false
        const lacks = negation(reasoning.isThere(attribute, placed))
        return (
          reasoning.solve(lacks, reasoning.matches(placed), reasoning.admitted()).kind ===
          'possible'
        )
      })
      if (!isOpen) continue
      const name = nameOf(attribute.steps)
      yield {
        diagnostic: aboutRule(
          {
            code: 'AZ006',
            severity: 'warning',
            message: `this is true for every request without \`${name}\``,
            hint: 'remove this part, unless these requests are meant to match: a missing value then does not match',
          },
          use.placed,
          test,
        ),
      }
      break
    }
  }
}

/** Tests of attributes that may be absent: `!has(x) || …`, `has(x) ? … : true`. */
function* absencesIn(term: Term): Generator<Term> {
  for (const { term: test, wanted } of signedLeaves(term)) {
    if (!wanted && isAlternative(term, test)) yield test
  }
  for (const one of termsOf(term)) {
    if (one.kind !== 'conditional') continue
    const { condition } = one
    if (isTrue(one.whenFalse)) yield condition
    if (condition.kind === 'not' && isTrue(one.whenTrue)) yield condition.operand
  }
}

function isTrue(term: Term): boolean {
  return term.kind === 'constant' && term.value === true
}

/** Whether the test is one of several alternatives, below an `||`. */
function isAlternative(term: Term, inner: Term): boolean {
  return [...termsOf(term)].some(
    (one) => one.kind === 'or' && [...termsOf(one)].some((below) => below === inner),
  )
}
