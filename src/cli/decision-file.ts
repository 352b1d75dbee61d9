import { dirname, resolve } from 'node:path'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { sentenceOf } from '../diagnostics/system-error.ts'
import type { Settings } from '../model/settings.ts'
import { DecisionFile } from '../telemetry/decision-file.ts'
import { decisionDrops } from '../telemetry/definitions/telemetry.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/** Opens the configured decision file; relative paths start at the folder of the configuration. */
export async function openDecisionFile(
  configuration: string,
  { decisions }: Settings,
  log: Logger,
  metrics: Metrics,
): Promise<DecisionFile | Diagnostic | undefined> {
  const { file } = decisions
  if (file === undefined) return undefined
  const path = resolve(dirname(configuration), file.path)
  const drops = metrics.counter(decisionDrops).of({}).at()
  try {
    return await DecisionFile.open({
      ...file,
      path,
      onFailed: (message, lost) => {
        const fields = { file: path, error: message }
        log.error('decisions', lost === 0 ? fields : { ...fields, lost })
      },
      onDropped: (records) => drops.inc(records),
    })
  } catch (error) {
    return {
      code: 'PC0403',
      severity: 'error',
      message: `cannot use the decision file: ${sentenceOf(error)}`,
      origin: { kind: 'object', object: configuration, field: 'config.decisions.file' },
      hint: `path: ${path}`,
    }
  }
}
