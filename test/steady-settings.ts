import type { Settings } from '../src/model/settings.ts'

const DEFAULT_DELAY = 1_000

/**
 * For a gateway in the process of its test. The two share an event loop, so a test that computes for
 * a second would make the gateway shed requests; only a file that says when to shed has it shed.
 */
export function steady(settings: Settings): Settings {
  const { limits } = settings
  if (limits.delay !== DEFAULT_DELAY) return settings
  return { ...settings, limits: { ...limits, delay: 0 } }
}
