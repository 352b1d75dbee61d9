import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Finding } from './finding.ts'

const COMMENT = /#[ \t]*lint:[ \t]*(AZ\d{3})\b[ \t:,-]*(.*)$/

interface Suppression {
  readonly code: string
  readonly reason: string
  readonly line: number
  readonly column: number
  readonly text: string
  isUsed: boolean
}

/**
 * Drops findings that a comment in the file accounts for: `# lint: AZ012 why it is fine`, on the
 * line of the finding or the line above. Comments without a reason or without a finding are
 * reported instead.
 */
export function suppress(
  findings: readonly Finding[],
  text: string,
  file: string,
): readonly Finding[] {
  const all = suppressionsIn(text)
  if (all.length === 0) return findings
  const kept = findings.filter(({ diagnostic: { code, origin } }) => {
    if (origin.kind !== 'file' || origin.file !== file) return true
    const own = all.find(
      (one) =>
        one.code === code &&
        one.reason !== '' &&
        (one.line === origin.line || one.line === origin.line - 1),
    )
    if (own !== undefined) own.isUsed = true
    return own === undefined
  })
  const idle = all.filter(({ isUsed }) => !isUsed)
  return [...kept, ...idle.map((one) => ({ diagnostic: complaint(one, file) }))]
}

function suppressionsIn(text: string): readonly Suppression[] {
  return text.split(/\r?\n/).flatMap((line, index): Suppression[] => {
    const match = COMMENT.exec(line)
    if (match === null) return []
    const [, code = '', reason = ''] = match
    const column = [...line.slice(0, match.index)].length + 1
    return [{ code, reason: reason.trim(), line: index + 1, column, text: line, isUsed: false }]
  })
}

function complaint({ code, reason, line, column, text }: Suppression, file: string): Diagnostic {
  const start = text.lastIndexOf('#')
  return {
    code: 'AZ021',
    severity: 'warning',
    message:
      reason === ''
        ? `${code} is not suppressed because the comment gives no reason`
        : `this comment suppresses nothing: ${code} is not reported here`,
    hint: reason === '' ? `add a reason: # lint: ${code} …` : 'remove the comment',
    origin: { kind: 'file', file, line, column },
    excerpt: { text, start, end: text.length },
  }
}
