import { sentenceOf } from '../diagnostics/system-error.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'

export const DEFAULT_ADMIN = 'http://127.0.0.1:15000'

/** Milliseconds that a gateway may take to answer. */
const PATIENCE = 10_000

/** The decisions that a running gateway has, or why they cannot be had. */
export async function askDecisions(
  admin: string,
  path: string,
): Promise<readonly DecisionRecord[] | string> {
  const url = urlOf(admin, path)
  if (url === undefined) return `${admin} is not a URL, and not a host and a port`
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(PATIENCE) })
    const body = (await answer.json()) as {
      readonly decisions?: readonly DecisionRecord[]
      readonly detail?: string
    }
    return answer.ok
      ? (body.decisions ?? [])
      : (body.detail ?? `${admin} answered ${answer.status}`)
  } catch (error) {
    const { cause, message } = error as Error
    const why = cause instanceof Error ? sentenceOf(cause) : message
    return `the admin API at ${admin} cannot be reached: ${why}`
  }
}

/** `localhost:15000` is as good as a URL; as one, its scheme would be `localhost`. */
function urlOf(admin: string, path: string): URL | undefined {
  const base = /^https?:\/\//i.test(admin) ? admin : `http://${admin}`
  return URL.canParse(path, base) ? new URL(path, base) : undefined
}
