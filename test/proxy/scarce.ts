import { ConnectionCounts } from '../../src/proxy/connection-counts.ts'
import { acceptingPort, free, httpListener, programOf } from './accepting.ts'

// A separate process with few descriptors; it respects their limit only with `bounded`.
const isBounded = process.argv[2] === 'bounded'
const limits = { connections: 10_000, connectionsPerAddress: 10_000 }
const counts = new ConnectionCounts(limits, isBounded ? undefined : Number.POSITIVE_INFINITY)
const own = await acceptingPort({ counts })
const port = await free()
await own.listeners.swap(programOf([httpListener(port, own.upstream)]))
process.stdout.write(`${port}\n`)
process.stdin.on('end', () => process.exit()).resume()
