import type { Attached } from '../../../model/policy.ts'
import { complain, type Reading } from '../reading.ts'
import { OLDER_SPELLINGS, type OlderPolicies } from './older-spellings.ts'

/**
 * Reads policies set below `config` as if they were in `frontendPolicies`. There is no precedence:
 * setting a policy in both places is an error.
 */
export function readOlderPolicies(reading: Reading, policies: OlderPolicies): readonly Attached[] {
  const config = reading.root.inner('config')
  const found = new Map<string, Attached>()
  for (const { path, kind } of OLDER_SPELLINGS) {
    const node = config.inner(...path)
    if (node.value === undefined) continue
    const newer = NAMES[kind].find(
      (name) => reading.root.inner('frontendPolicies', name).value !== undefined,
    )
    if (newer !== undefined) {
      const older = `config.${path.join('.')}`
      const message = `\`${older}\` and \`frontendPolicies.${newer}\` configure the same thing`
      const hint = `remove \`${older}\`, which is the older form`
      complain(reading, node, { code: 'PC0216', message, hint }, 'key')
    }
    const value = policies[kind]
    if (value === undefined || found.has(kind)) continue
    const { origin } = node
    const policy = 'section:config'
    const place = { section: 'frontend', level: 'frontend', policy, origin } as const
    found.set(kind, { state: 'valid', kind, value, ...place })
  }
  return [...found.values()]
}

/** The keys of `frontendPolicies` for the kind. */
const NAMES: Readonly<Record<keyof OlderPolicies, readonly string[]>> = {
  tracing: ['tracing'],
  accessLog: ['accessLog', 'logging'],
}
