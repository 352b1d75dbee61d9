import type { Term } from '../../../cel/check/term.ts'
import { isDynamic } from '../../../cel/check/types.ts'
import { parseCidr } from '../../../cel/values/cidr.ts'
import { parseIp } from '../../../cel/values/ip.ts'
import { nameOf } from '../../symbolic/attribute-tree.ts'
import { attributeOf } from '../../symbolic/leaves.ts'
import type { Check } from '../check.ts'
import { aboutRule, originOfRule } from '../finding.ts'
import { claimOf, claimPathOf, headerOf, signedLeaves, termsOf } from '../terms.ts'

/** AZ011: the result may not be a boolean, and the rule does not match then. */
export const maybeNotBoolean: Check = function* ({ rules }) {
  for (const { placed } of rules) {
    for (const { term, wanted } of signedLeaves(placed.condition.term)) {
      if (!isDynamic(term.type)) continue
      const { expression } = placed.rule
      const text = expression.slice(term.start, term.end)
      const to = `${expression.slice(0, term.start)}${text} == true${expression.slice(term.end)}`
      const diagnostic = aboutRule(
        {
          code: 'AZ011',
          severity: 'warning',
          message: `\`${text}\` can have any type: unless it is a boolean, the rule does not match`,
          hint: `compare it: \`${text} == true\``,
        },
        placed,
        term,
      )
      // The whole condition only needs to be true; inside a larger term, an error is not the same
      // as `false`.
      const isWhole = term === placed.condition.term && wanted && attributeOf(term) !== undefined
      const fix = { kind: 'rewrite', at: originOfRule(placed), from: expression, to } as const
      yield isWhole ? { diagnostic, fix } : { diagnostic }
      break
    }
  }
}

/** AZ003: the string form of an address compared with anything but a canonical address. */
export const addressTexts: Check = function* ({ rules }) {
  for (const { placed } of rules) {
    for (const { term } of signedLeaves(placed.condition.term)) {
      const text = constantOf(term)
      if (term.kind !== 'equal' || text === undefined || !isAddressText(term)) continue
      if (parseIp(text)?.text === text) continue
      const isRange = parseCidr(text) !== undefined
      const said = {
        code: 'AZ003',
        severity: 'error',
        message: `the string form of an address is never \`${text}\``,
        hint: isRange
          ? `test the range with cidr('${text}').containsIP(source.address)`
          : 'write the address in canonical form: 10.0.0.7, 2001:db8::1',
      } as const
      yield { diagnostic: aboutRule(said, placed, term) }
    }
  }
}

/** Whether one side is `string(source.address)`. */
function isAddressText(term: Extract<Term, { kind: 'equal' }>): boolean {
  return [term.left, term.right].some(
    (side) => side.kind === 'call' && side.name === 'string' && side.args[0]?.type.kind === 'ip',
  )
}

export function readsPath(term: Term): boolean {
  return [...termsOf(term)].some((one) => nameOf(attributeOf(one)?.steps ?? []) === 'request.path')
}

export function constantOf(term: Term): string | undefined {
  const found = [...termsOf(term)].find((one) => one.kind === 'constant')
  return found?.kind === 'constant' && typeof found.value === 'string' ? found.value : undefined
}

/** Headers with which proxies forward the identity of a client. Any client can send them, too. */
const IDENTITY =
  /(?:^|-)(?:user|username|userid|user-id|email|role|roles|group|groups|tenant|subject|identity|principal|account|authenticated|client-cert|client-dn)(?:-|$)|^x-forwarded-for$|^x-real-ip$/

/** AZ013: header names with capital letters, and headers that claim an identity. */
export const headerNames: Check = function* ({ rules }) {
  for (const { placed } of rules) {
    const { expression, action } = placed.rule
    const lowered = lowerCaseNames(expression, placed.condition.term)
    if (lowered.text !== expression) {
      const said = {
        code: 'AZ013',
        severity: 'warning',
        message: 'header names are compared in lowercase',
        hint: `write \`${lowered.text}\`, which is equivalent`,
      } as const
      const fix = { at: originOfRule(placed), from: expression, to: lowered.text }
      yield { diagnostic: aboutRule(said, placed, lowered), fix: { kind: 'rewrite', ...fix } }
    }
    if (action === 'Deny') continue
    for (const term of termsOf(placed.condition.term)) {
      const name = headerOf(term)
      if (name === undefined || !IDENTITY.test(name)) continue
      const said = {
        code: 'AZ013',
        severity: 'warning',
        message: `any client can send \`${name}\`: it does not identify the caller`,
        hint: 'use claims of a verified token (`jwt`), `apiKey` or a client certificate; or remove the header from client requests',
      } as const
      yield { diagnostic: aboutRule(said, placed, term) }
      break
    }
  }
}

function lowerCaseNames(expression: string, root: Term) {
  let text = expression
  let span = { start: 0, end: expression.length }
  for (const term of termsOf(root)) {
    const name = headerOf(term)
    if (name === undefined || term.kind !== 'field') continue
    const own = expression.slice(term.start, term.end)
    const written = /(\[\s*(['"]))([!#$%&*+\-.^_`|~0-9A-Za-z]+)\2\s*\]$/.exec(own)?.[3]
    if (written === undefined || written === name || written.toLowerCase() !== name) continue
    const start = term.start + own.lastIndexOf(written)
    text = text.slice(0, start) + name + text.slice(start + name.length)
    span = { start, end: start + name.length }
  }
  return { text, ...span }
}

/** Claims that issuers write as a list, or as one string separated by spaces. */
const LISTS: ReadonlySet<string> = new Set([
  'aud',
  'amr',
  'groups',
  'roles',
  'permissions',
  'entitlements',
  'scp',
])
const SPACED: ReadonlySet<string> = new Set(['scope', 'scp', 'scopes'])

/** AZ014: a list compared with a string, and substrings mistaken for elements. */
export const listClaims: Check = function* ({ rules }) {
  for (const { placed } of rules) {
    for (const { term } of signedLeaves(placed.condition.term)) {
      const said = listProblem(term, placed.rule.expression)
      if (said === undefined) continue
      const severity = 'warning'
      yield { diagnostic: aboutRule({ code: 'AZ014', severity, ...said }, placed, term) }
    }
  }
}

interface Said {
  readonly message: string
  readonly hint: string
}

function listProblem(term: Term, expression: string): Said | undefined {
  const subject = [...termsOf(term)].find((one) => claimPathOf(one) !== undefined)
  // Issuers nest lists in objects: `realm_access.roles`.
  const claim = subject && claimPathOf(subject)?.at(-1)
  const value = constantOf(term)
  if (subject === undefined || claim === undefined || value === undefined) return undefined
  const read = expression.slice(subject.start, subject.end)
  if (term.kind === 'call' && term.name === 'contains' && LISTS.has(claim) && !SPACED.has(claim)) {
    return {
      message: `\`${claim}\` is usually a list, but \`contains\` searches a string: the result depends on the format that the issuer uses`,
      hint: `write \`'${value}' in ${read}\`, which matches only an entire element`,
    }
  }
  if (term.kind === 'call' && term.name === 'contains') {
    const parts = `${read}.split(' ')`
    return {
      message: `this also matches \`${value}-more\`: it searches for a substring, not for an element`,
      hint: SPACED.has(claim)
        ? `write \`'${value}' in ${parts}\``
        : `if it is a list, write \`'${value}' in ${read}\``,
    }
  }
  // Only the claim itself, not an element of it or the result of a function.
  if (term.kind !== 'equal' || (term.left !== subject && term.right !== subject)) return undefined
  if (claimOf(subject) === 'aud') {
    return {
      message: '`aud` can be a string or a list of strings: a list never equals a string',
      hint: 'list the accepted `audiences` in the provider of jwtAuthentication, which accepts both',
    }
  }
  if (SPACED.has(claim)) {
    return {
      message: `\`${claim}\` contains scopes separated by spaces: with several scopes, it equals none of them`,
      hint: `write \`'${value}' in ${read}.split(' ')\``,
    }
  }
  if (!LISTS.has(claim)) return undefined
  return {
    message: `\`${claim}\` is usually a list: a list never equals a string`,
    hint: `write \`'${value}' in ${read}\``,
  }
}
