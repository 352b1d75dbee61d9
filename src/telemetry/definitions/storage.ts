import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'

export const storageConnected = defineGauge({
  name: 'portcullis_storage_connected',
  help: 'Whether the configuration database is connected; if not, the last known edits are served.',
  labels: [],
  merge: 'min',
})

export const storageRevision = defineGauge({
  name: 'portcullis_storage_revision',
  help: 'Revision of the edits that are served; replicas with the same edits have the same revision.',
  labels: [],
  merge: 'max',
})

export const storageReconnects = defineCounter({
  name: 'portcullis_storage_reconnects_total',
  help: 'Times that the connection to the database was lost or could not be established.',
  labels: [],
})

export const STORAGE: MetricGroup = {
  title: 'Storage',
  metrics: [storageConnected, storageRevision, storageReconnects],
}
