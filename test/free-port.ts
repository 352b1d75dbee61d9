import { createServer } from 'node:net'

// Below the ephemeral port range, so that no outgoing connection takes a port between its selection
// and the moment a gateway listens on it.
const FIRST = 16_384
const LAST = 32_767

/** Returns a port that is free and that no other test gets while this process lives. */
export async function freePort(): Promise<number> {
  return (await freePorts(1))[0] as number
}

/** Returns `count` consecutive free ports. */
export async function freePorts(count: number): Promise<readonly number[]> {
  for (;;) {
    const first = FIRST + Math.floor(Math.random() * (LAST - FIRST - count))
    const ports = Array.from({ length: count }, (_, index) => first + index)
    if (await areAll(ports, isReserved)) return ports
  }
}

async function areAll(ports: readonly number[], test: (port: number) => Promise<boolean>) {
  for (const port of ports) if (!(await test(port))) return false
  return true
}

async function isReserved(port: number): Promise<boolean> {
  return (
    (await isMarked(port)) && (await isFree(port, undefined)) && (await isFree(port, '127.0.0.1'))
  )
}

/**
 * On Linux, binds an abstract socket name that is released when this process ends for any reason.
 * Other systems have no such names.
 */
function isMarked(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return Promise.resolve(true)
  return new Promise((resolve) => {
    const server = createServer().unref()
    server.once('error', () => resolve(false))
    server.listen(`\0portcullis-test-port-${port}`, () => resolve(true))
  })
}

function isFree(port: number, host: string | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host }, () => server.close(() => resolve(true)))
  })
}
