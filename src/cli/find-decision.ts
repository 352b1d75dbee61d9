import { unreadable } from '../diagnostics/system-error.ts'
import type { Environment } from '../sources/file/expand.ts'
import { findInFiles } from '../telemetry/decision-chain.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import { DEFAULT_ADMIN, fetchDecisions } from './admin-client.ts'

/** Finds the records of an id: in files if any are named, otherwise in a running gateway. */
export async function findDecision(
  id: string,
  admin: string | undefined,
  files: readonly string[] | undefined,
  environment: Environment,
): Promise<readonly DecisionRecord[] | string> {
  if (files === undefined) {
    const path = `/api/decisions/${encodeURIComponent(id)}`
    return fetchDecisions(admin ?? DEFAULT_ADMIN, path, environment)
  }
  try {
    return await findInFiles(files, id)
  } catch (error) {
    return unreadable(error)
  }
}
