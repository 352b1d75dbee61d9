import { Agent, request } from 'node:http'

export interface Load {
  /** Stops the load, and returns its result. */
  stop(): Promise<{ readonly served: number; readonly failed: readonly string[] }>
}

/** Sends requests sequentially on each of several connections until `stop` is called. */
export function startLoad(
  address: string,
  path: string,
  options: { readonly keepAlive: boolean; readonly expected?: readonly number[] },
): Load {
  const { keepAlive, expected = [200] } = options
  const agent = new Agent({ keepAlive })
  const failed: string[] = []
  let served = 0
  let isStopped = false
  const line = async () => {
    while (!isStopped) {
      const status = await ask(agent, address, path).catch((error: Error) => error.message)
      if (expected.includes(status as number)) served += 1
      else failed.push(`${new Date().toISOString()} ${status}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const lines = Array.from({ length: 4 }, line)
  return {
    stop: async () => {
      isStopped = true
      await Promise.all(lines)
      agent.destroy()
      return { served, failed }
    },
  }
}

function ask(agent: Agent, host: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host, path, timeout: 10_000 }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode))
      response.on('error', reject)
    })
    sent.on('timeout', () => sent.destroy(new Error('nothing came in 10 s')))
    sent.on('error', reject)
    sent.end()
  })
}
