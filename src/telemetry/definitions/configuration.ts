import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge, defineInfo } from '../gauge.ts'
import { label } from '../label.ts'

export const configSynchronized = defineGauge({
  name: 'portcullis_config_synchronized',
  help: 'Whether the newest configuration is the one that runs: 0 after one that was rejected, as a whole or in part.',
  labels: [],
  merge: 'min',
})

export const configReloads = defineCounter({
  name: 'portcullis_config_reloads_total',
  help: 'Configurations that were read after a change.',
  labels: [label('outcome', 'what became of it', ['applied', 'rejected'])],
})

export const configInfo = defineInfo({
  name: 'portcullis_config_info',
  help: 'The configuration that runs, by its label; replicas that agree have the same.',
  labels: [label('hash', 'digest of the configuration')],
})

export const configRejectedParts = defineGauge({
  name: 'portcullis_config_rejected_parts',
  help: 'Parts of the configuration that runs which are invalid, and therefore fail closed.',
  labels: [],
  merge: 'max',
})

export const configApplied = defineGauge({
  name: 'portcullis_config_applied_timestamp_seconds',
  help: 'When the configuration that runs was put into effect, in seconds since 1970.',
  labels: [],
  unit: 'seconds',
  merge: 'max',
})

export const CONFIGURATION: MetricGroup = {
  title: 'Configuration',
  metrics: [configSynchronized, configReloads, configRejectedParts, configInfo, configApplied],
}
