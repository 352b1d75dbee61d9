import { ConnectionCounts } from '../../src/proxy/connection-counts.ts'
import { acceptingPort, free, httpListener, programOf } from './accepting.ts'

// A process of its own, with few descriptors: with `bounded` it knows of them, else it does not.
const isBounded = process.argv[2] === 'bounded'
const limits = { connections: 10_000, connectionsPerAddress: 10_000 }
const counts = new ConnectionCounts(limits, isBounded ? undefined : Number.POSITIVE_INFINITY)
const own = await acceptingPort({ counts })
const port = await free()
await own.listeners.swap(programOf([httpListener(port, own.upstream)]))
process.stdout.write(`${port}\n`)
process.stdin.on('end', () => process.exit()).resume()
