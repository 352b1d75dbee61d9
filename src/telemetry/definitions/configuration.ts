import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge, defineInfo } from '../gauge.ts'
import { label } from '../label.ts'

export const configSynchronized = defineGauge({
  name: 'portcullis_config_synchronized',
  help: 'Whether the newest configuration is running: 0 if it was rejected, entirely or in part.',
  labels: [],
  merge: 'min',
})

export const configReloads = defineCounter({
  name: 'portcullis_config_reloads_total',
  help: 'Configurations that were read after a change.',
  labels: [label('outcome', 'the outcome', ['applied', 'rejected'])],
})

export const configInfo = defineInfo({
  name: 'portcullis_config_info',
  help: 'The running configuration, identified by its label; replicas with the same configuration have the same label.',
  labels: [label('hash', 'digest of the configuration')],
})

export const configRejectedParts = defineGauge({
  name: 'portcullis_config_rejected_parts',
  help: 'Invalid parts of the running configuration, which fail closed.',
  labels: [],
  merge: 'max',
})

export const configApplied = defineGauge({
  name: 'portcullis_config_applied_timestamp_seconds',
  help: 'Time at which the running configuration was applied, in seconds since 1970.',
  labels: [],
  unit: 'seconds',
  merge: 'max',
})

export const CONFIGURATION: MetricGroup = {
  title: 'Configuration',
  metrics: [configSynchronized, configReloads, configRejectedParts, configInfo, configApplied],
}
