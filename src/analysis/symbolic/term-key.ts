import type { Term } from '../../cel/check/term.ts'
import { valueKey } from './value-key.ts'

/** One key for terms with the same result for every request, however they are written. */
export function termKey(term: Term): string {
  switch (term.kind) {
    case 'constant':
      return `${term.type.kind} ${valueKey(term.value)}`
    case 'invalid':
      return `invalid ${JSON.stringify(term.reason)}`
    case 'variable':
      return `$${term.name}`
    case 'local':
      return `@${term.slot}`
    case 'field':
      return node(`.${term.access} ${JSON.stringify(term.field)}`, [term.operand])
    case 'index':
      return node(term.optional ? '[?]' : '[]', [term.operand, term.index])
    case 'equal':
      return node(term.negated ? '!=' : '==', [term.left, term.right])
    case 'member':
      return node('in', [term.element, term.container])
    case 'call':
      return node(`call ${JSON.stringify(term.name)}`, term.args)
    case 'and':
    case 'or':
      return node(term.kind, [term.left, term.right])
    case 'not':
      return node('not', [term.operand])
    case 'conditional':
      return node('?', [term.condition, term.whenTrue, term.whenFalse])
    case 'list': {
      const marks = term.elements.map(({ optional }) => (optional ? '?' : '.')).join('')
      return node(
        `list ${marks}`,
        term.elements.map(({ value }) => value),
      )
    }
    case 'map': {
      const marks = term.entries.map(({ optional }) => (optional ? '?' : '.')).join('')
      return node(
        `map ${marks}`,
        term.entries.flatMap(({ key, value }) => [key, value]),
      )
    }
    case 'loop': {
      const slots = `${term.first.slot} ${term.second?.slot ?? ''}`
      const filter = term.filter === undefined ? [] : [term.filter]
      return node(`${term.macro} ${slots} ${filter.length}`, [term.range, ...filter, term.body])
    }
    case 'bind':
      return node(`bind ${term.local.slot} ${term.strict}`, [term.value, term.body])
    case 'optMap':
      return node(`optMap ${term.local.slot} ${term.flat}`, [term.target, term.body])
    case 'fallback':
      return node(term.unwraps ? 'orValue' : 'or?', [term.optional, term.other])
    case 'coalesce':
      return node(term.onlyMissing ? 'default' : 'coalesce', term.choices)
  }
}

function node(head: string, parts: readonly Term[]): string {
  return `(${head}${parts.map((part) => ` ${termKey(part)}`).join('')})`
}
