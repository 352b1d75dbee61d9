import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'

export const storageConnected = defineGauge({
  name: 'portcullis_storage_connected',
  help: 'Whether the database with edits of the configuration is connected; if not, the last known ones are served.',
  labels: [],
  merge: 'min',
})

export const storageRevision = defineGauge({
  name: 'portcullis_storage_revision',
  help: 'The revision of the edits that are served; replicas that agree have the same.',
  labels: [],
  merge: 'max',
})

export const storageReconnects = defineCounter({
  name: 'portcullis_storage_reconnects_total',
  help: 'How often the connection to the database was lost, or could not be made.',
  labels: [],
})

export const STORAGE: MetricGroup = {
  title: 'Storage',
  metrics: [storageConnected, storageRevision, storageReconnects],
}
