import type { Diagnostic, Origin, Position, Severity } from './diagnostic.ts'
import { drawExcerpt } from './excerpt.ts'
import { visible } from './text-cells.ts'

export interface TerminalOptions {
  /** The caller knows whether there is a terminal and what NO_COLOR says. */
  readonly colour?: boolean
  /** Width of the terminal in columns. */
  readonly width?: number
}

/** For people at a terminal: message, place, the text with carets under it, and the hint. */
export function renderTerminal(
  diagnostics: readonly Diagnostic[],
  options: TerminalOptions = {},
): string {
  return diagnostics.map((diagnostic) => renderOne(diagnostic, options)).join('\n\n')
}

function renderOne(diagnostic: Diagnostic, { colour = false, width = 100 }: TerminalOptions) {
  const { code, severity, message, origin, excerpt, hint } = diagnostic
  const paint = colour ? painted : plain
  const bar = paint('frame', '│')
  const lines = [
    `${paint(severity, `${severity}[${code}]`)}${paint('message', `: ${indented(message)}`)}`,
    `  ${paint('frame', '┌')} ${visible(renderOrigin(origin))}`,
  ]
  for (const line of excerpt === undefined ? [] : drawExcerpt(excerpt, width - 4)) {
    lines.push(`  ${bar} ${line.text}`.trimEnd())
    if (line.carets !== '') lines.push(`  ${bar} ${paint(severity, line.carets)}`)
  }
  if (hint !== undefined)
    lines.push(`  ${paint('frame', '=')} ${paint('hint', 'hint:')} ${indented(hint)}`)
  return lines.join('\n')
}

/** `gateway.yaml:12:24`, or `ProxyPolicy default/allow-alice: spec.traffic.…`. */
export function renderOrigin(origin: Origin | Position): string {
  if (origin.kind === 'file') return `${origin.file}:${origin.line}:${origin.column}`
  if (origin.kind === 'part') {
    const { file, part, field } = origin
    return [file, part, field].filter((name) => name !== '').join(': ')
  }
  return origin.field === '' ? origin.object : `${origin.object}: ${origin.field}`
}

/** For programs: all fields as they are, in a stable order. */
export function renderJson(diagnostics: readonly Diagnostic[]): string {
  const items = diagnostics.map(({ code, severity, message, origin, hint, excerpt }) => ({
    code,
    severity,
    message,
    origin,
    hint,
    excerpt,
  }))
  return JSON.stringify({ ...countBySeverity(diagnostics), diagnostics: items }, undefined, 2)
}

/** `2 errors, 1 warning`; `no errors` if there is nothing. */
export function renderCount(diagnostics: readonly Diagnostic[]): string {
  const { errors, warnings, infos } = countBySeverity(diagnostics)
  const parts = [
    counted(errors, 'error'),
    counted(warnings, 'warning'),
    counted(infos, 'note'),
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'no errors' : parts.join(', ')
}

function countBySeverity(diagnostics: readonly Diagnostic[]) {
  const count = (severity: Severity) => diagnostics.filter((d) => d.severity === severity).length
  return { errors: count('error'), warnings: count('warning'), infos: count('info') }
}

function counted(count: number, noun: string): string {
  if (count === 0) return ''
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

/** Messages are one line; if one is not, its further lines must not look like ours. */
function indented(text: string): string {
  return text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map(visible)
    .join('\n    ')
}

type Role = Severity | 'message' | 'frame' | 'hint'

const STYLES: Readonly<Record<Role, string>> = {
  error: '1;31',
  warning: '1;33',
  info: '1;34',
  message: '1',
  frame: '36',
  hint: '32',
}

function painted(role: Role, text: string): string {
  return `\x1b[${STYLES[role]}m${text}\x1b[0m`
}

function plain(_role: Role, text: string): string {
  return text
}
