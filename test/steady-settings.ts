import type { Settings } from '../src/model/settings.ts'

const DEFAULT_DELAY = 1_000

/**
 * Settings for a gateway that runs in the process of its test. The two share an event loop, so a
 * test that computes for a second would make the gateway shed requests; it sheds only if the file
 * sets a limit for that.
 */
export function steady(settings: Settings): Settings {
  const { limits } = settings
  if (limits.delay !== DEFAULT_DELAY) return settings
  return { ...settings, limits: { ...limits, delay: 0 } }
}
