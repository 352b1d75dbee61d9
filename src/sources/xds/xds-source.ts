import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { success } from '../../diagnostics/result.ts'
import {
  type ClientEvents,
  type Delivered,
  XdsClient,
  type XdsClientOptions,
} from '../../xds/client.ts'
import type { Rejection } from '../../xds/protocol.ts'
import { Replica } from '../../xds/replica.ts'
import type { Outcome, Source, Update } from '../source.ts'
import { StateFile } from './state-file.ts'

export interface XdsSourceOptions extends Omit<XdsClientOptions, 'replica' | 'events'> {
  /** The file with the last configuration; if undefined, it is not stored. */
  readonly stateFile?: string | undefined
  readonly events?: ClientEvents & {
    /** The stored configuration cannot be used. */
    readonly warned?: (problem: Diagnostic) => void
  }
}

/**
 * A source of Models from a controller. The stored Model comes first; the outcome of each Model is
 * reported to the controller by resource. While the controller is unavailable, there are no
 * updates, and the applied Model stays in effect.
 */
export class XdsSource implements Source {
  /** An invalid part fails closed, and its rejection is reported. */
  readonly isStrict = false
  readonly #options: XdsSourceOptions

  constructor(options: XdsSourceOptions) {
    this.#options = options
  }

  /** The controller pushes changes: there is nothing to read again. */
  refresh(): void {}

  async *watch(signal: AbortSignal): AsyncGenerator<Update> {
    const { stateFile, events = {} } = this.#options
    const replica = new Replica()
    const client = new XdsClient({ ...this.#options, replica, events })
    const state =
      stateFile === undefined
        ? undefined
        : new StateFile(stateFile, (problem) => events.warned?.(problem))
    const stored = await state?.read()
    if (stored !== undefined) {
      const restored = replica.restore(stored)
      if (restored === undefined) state?.reject(new Error('the file is damaged'))
      else client.resume(restored)
    }
    const running = client.run(signal)
    let isStored = stored?.version
    for (;;) {
      const next = await client.next(signal)
      if (next === undefined) break
      const settled = (outcome: Outcome) => {
        if (outcome.isApplied && isStored !== next.version) {
          isStored = next.version
          void state?.write(next)
        }
        client.settle(next.version, rejectionsOf(outcome, next))
      }
      yield { result: success(next.model), digest: next.version, settled }
    }
    await running
  }
}

function rejectionsOf(
  { isApplied, diagnostics, rejected }: Outcome,
  { version, parts }: Delivered,
): readonly Rejection[] {
  const versions = new Map<string, string>()
  if (rejected.length > 0) for (const part of parts) versions.set(part.name, part.version)
  const named = rejected.map(({ section, name, diagnostics: own }) => {
    const resource = name === '' ? section : `${section}/${name}`
    return { resource, version: versions.get(resource) ?? '', diagnostics: own }
  })
  if (isApplied) return named
  return [{ resource: '', version, diagnostics }, ...named]
}
