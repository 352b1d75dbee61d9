import { sentenceOf } from '../../diagnostics/system-error.ts'

/** Describes why the database is unreachable, and where, instead of `connect ECONNREFUSED`. */
export function connectionProblem(error: unknown): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : []
  const cause = first ?? error
  const { address, port, syscall } = cause as {
    readonly address?: string
    readonly port?: number
    readonly syscall?: string
  }
  if (syscall !== 'connect' || address === undefined) return sentenceOf(cause) || 'it failed'
  return `${sentenceOf(cause)} (${port === undefined ? address : `${address}:${port}`})`
}
