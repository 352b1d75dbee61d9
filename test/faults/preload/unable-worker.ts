import { existsSync, readFileSync } from 'node:fs'
import { Gateway } from '../../../src/proxy/gateway.ts'

// Loaded before the program: makes workers fail from now on, in the way that a file names.

const flag = process.env['UNABLE_WORKER'] ?? ''
if (process.env['PORTCULLIS_WORKER'] !== undefined && existsSync(flag)) {
  const what = readFileSync(flag, 'utf8')
  if (what === 'ends') process.exit(3)
  Gateway.prototype.apply = async () => ({
    isApplied: false,
    diagnostics: [
      {
        code: 'PC0401',
        severity: 'error',
        message: 'port 1 may not be used',
        origin: { kind: 'file', file: 'gateway.yaml', line: 1, column: 1 },
      },
    ],
  })
}
