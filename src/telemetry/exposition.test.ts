import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseFormat } from './exposition.ts'

const PROTO =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited'

describe('scrape format negotiation', () => {
  for (const [name, accept, format] of [
    ['nothing asked', undefined, 'prometheus'],
    ['empty', '', 'prometheus'],
    ['a browser', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'prometheus'],
    ['curl', '*/*', 'prometheus'],
    [
      'Prometheus 2',
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      'openmetrics',
    ],
    [
      'Prometheus 3',
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
      'openmetrics',
    ],
    [
      'Prometheus 3 that wants native histograms',
      `${PROTO};q=0.7,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2`,
      'protobuf',
    ],
    ['protobuf liked less', `${PROTO};q=0.1, text/plain;q=0.9`, 'prometheus'],
    ['protobuf of another kind', 'application/vnd.google.protobuf;encoding=text', 'prometheus'],
    ['quotes and spaces', 'application/openmetrics-text ; version="1.0.0"', 'openmetrics'],
    ['a version that there is not', 'application/openmetrics-text;version=2.0.0', 'prometheus'],
    ['refused', 'application/openmetrics-text;version=1.0.0;q=0', 'prometheus'],
    ['no quality', 'application/openmetrics-text;q=high', 'prometheus'],
    ['only JSON', 'application/json', 'prometheus'],
  ] as const) {
    it(`${name}: ${format}`, () => assert.equal(chooseFormat(accept), format))
  }
})
