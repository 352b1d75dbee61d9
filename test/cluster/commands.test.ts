import { after, before, describe } from 'node:test'
import { describeCommands } from './commands.ts'
import { missing } from './harness.ts'
import { type Plane, startPlane } from './plane.ts'

const reason = missing()
const options = reason === undefined ? {} : { skip: reason }

describe('a control plane with few objects', options, () => {
  let plane: Plane
  before(async () => {
    plane = await startPlane({ ports: 20 })
    plane.controller = await plane.programs.startController()
  })
  after(async () => {
    await plane?.close()
  })

  describeCommands(() => plane)
})
