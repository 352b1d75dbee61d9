import type { DecisionRecord } from '../telemetry/decision-record.ts'

export const DEFAULT_ADMIN = 'http://127.0.0.1:15000'

/** Milliseconds that a gateway may take to answer. */
const PATIENCE = 10_000

/** The decisions that a running gateway has, or why they cannot be had. */
export async function askDecisions(
  admin: string,
  path: string,
): Promise<readonly DecisionRecord[] | string> {
  if (!URL.canParse(path, admin)) return `${admin} is no URL`
  try {
    const answer = await fetch(new URL(path, admin), { signal: AbortSignal.timeout(PATIENCE) })
    const body = (await answer.json()) as {
      readonly decisions?: readonly DecisionRecord[]
      readonly error?: string
    }
    return answer.ok ? (body.decisions ?? []) : (body.error ?? `${admin} answered ${answer.status}`)
  } catch (error) {
    const { cause, message } = error as Error
    const why = cause instanceof Error && cause.message !== '' ? cause.message : message
    return `the admin API at ${admin} cannot be asked: ${why}`
  }
}
