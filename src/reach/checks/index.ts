import type { Report } from '../../diagnostics/report.ts'
import type { Model } from '../../model/model.ts'
import { checkDynamicPolicies } from '../dynamic-policies.ts'
import {
  checkAgentPolicies,
  checkEnforcingBackends,
  checkProviderPolicies,
} from '../part-policies.ts'
import { shadowedPolicies } from '../shadowed-policies.ts'
import { unenforcedOnStreams } from '../stream-policies.ts'
import { attachPolicies } from './attach.ts'
import { type Draft, modelOf } from './draft.ts'
import { checkNames } from './names.ts'
import { checkPorts } from './ports.ts'
import { checkReachability } from './reachability.ts'
import { resolveBackends, resolveParents } from './references.ts'

type Check = (draft: Draft, report: Report) => Draft

/** Each check relies on the previous ones. */
const DRAFT_CHECKS: readonly Check[] = [
  checkNames,
  checkPorts,
  resolveParents,
  resolveBackends,
  attachPolicies,
  checkReachability,
]

const MODEL_CHECKS = [
  unenforcedOnStreams,
  checkDynamicPolicies,
  checkProviderPolicies,
  checkEnforcingBackends,
  checkAgentPolicies,
  shadowedPolicies,
] as const

/**
 * Turns a draft into a Model and reports everything that is wrong with it, regardless of the format
 * it was written in: names, ports, references, attachment, reachability. Invalid parts fail closed.
 * Runs in small steps.
 */
export function* checkDraft(draft: Draft, report: Report): Generator<void, Model> {
  let checked = draft
  for (const check of DRAFT_CHECKS) {
    checked = check(checked, report)
    yield
  }
  const model = modelOf(checked)
  for (const check of MODEL_CHECKS) {
    for (const diagnostic of check(model)) report(diagnostic)
    yield
  }
  return model
}
