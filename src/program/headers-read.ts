import { children, type Term } from '../cel/check/term.ts'
import type { Expression } from '../cel/index.ts'
import type { Route } from '../model/route.ts'

/** The request headers that affect decisions, by the names in rules and routes. */
export interface HeadersRead {
  /** In lower case. */
  readonly names: ReadonlySet<string>
  /** A rule reads all headers, or one whose name is computed. */
  readonly all: boolean
}

/** Collects the headers while the expressions of a Program are compiled. */
export class HeaderReads implements HeadersRead {
  readonly names = new Set<string>()
  all = false

  note(text: string, expression: Expression): void {
    const rest = text.replace(PLAIN, (_, quoted = '', apostrophed = '', field = '') => {
      this.names.add((quoted || apostrophed || field).toLowerCase())
      return ''
    })
    // Escapes, computed names and the map as a whole are read from the tree.
    if (MAY_READ.test(rest)) this.#walk(expression.term)
  }

  /** A route that matches a header determines which rules are evaluated. */
  noteMatches({ rules }: Route): void {
    for (const { matches } of rules) {
      for (const { headers } of matches) {
        for (const { name } of headers) this.names.add(name.toLowerCase())
      }
    }
  }

  #walk(term: Term): void {
    if (term.kind === 'field' && isHeaders(term.operand)) {
      this.names.add(term.field.toLowerCase())
      return
    }
    const name = term.kind === 'member' ? nameIn(term.element, term.container) : undefined
    if (name !== undefined) {
      this.names.add(name.toLowerCase())
      return
    }
    if (isHeaders(term) || isWholeRequest(term)) this.all = true
    else if (term.kind === 'field' && isWholeRequest(term.operand)) return
    else for (const child of children(term)) this.#walk(child)
  }
}

/**
 * `request.headers['x']`, `request.headers["x"]` and `request.headers.x`, the most common forms.
 */
const PLAIN = /\brequest\.headers(?:\["([^"\\]*)"\]|\['([^'\\]*)'\]|\.([A-Za-z_]\w*)\b(?!\s*\())/g

const MAY_READ = /headers|\\|\brequest\b(?!\s*\.)/

function isWholeRequest(term: Term): boolean {
  return term.kind === 'variable' && term.name === 'request'
}

function isHeaders(term: Term): boolean {
  return term.kind === 'field' && term.field === 'headers' && isWholeRequest(term.operand)
}

/** `'x-role' in request.headers` */
function nameIn(element: Term, container: Term): string | undefined {
  if (!isHeaders(container) || element.kind !== 'constant') return undefined
  return typeof element.value === 'string' ? element.value : undefined
}
