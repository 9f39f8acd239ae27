// Draws tiles of a heat map with WebGL 2: one byte for each weight, coloured in the shader.

const VERTEX = `#version 300 es
in vec2 corner;
uniform vec4 box;
out vec2 at;
void main() {
  at = corner;
  vec2 place = box.xy + corner * box.zw;
  gl_Position = vec4(place.x * 2.0 - 1.0, 1.0 - place.y * 2.0, 0.0, 1.0);
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
uniform sampler2D weights;
uniform sampler2D colours;
in vec2 at;
out vec4 colour;
void main() {
  float weight = texture(weights, at).r;
  colour = texture(colours, vec2(weight * (255.0 / 256.0) + 0.5 / 256.0, 0.5));
}`;

/** @typedef {{ key: string, x: number, y: number, width: number, height: number }} Placed */

export class WebglTiles {
  /**
   * Null where the browser has no WebGL 2.
   * @param {HTMLCanvasElement} canvas
   */
  static on(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
    return gl ? new WebglTiles(canvas, gl) : null;
  }

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {WebGL2RenderingContext} gl
   */
  constructor(canvas, gl) {
    this.canvas = canvas;
    this.gl = gl;
    /** @type {Map<string, WebGLTexture>} */
    this.tiles = new Map();
    const program = gl.createProgram();
    for (const [kind, source] of /** @type {const} */ ([
      [gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT],
    ])) {
      const shader = gl.createShader(kind);
      if (!shader) throw new Error("no shader");
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    const corner = gl.getAttribLocation(program, "corner");
    gl.enableVertexAttribArray(corner);
    gl.vertexAttribPointer(corner, 2, gl.FLOAT, false, 0, 0);
    gl.uniform1i(gl.getUniformLocation(program, "weights"), 0);
    gl.uniform1i(gl.getUniformLocation(program, "colours"), 1);
    this.box = gl.getUniformLocation(program, "box");
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.colours = this.texture(1);
    this.background = [0, 0, 0];
  }

  /** A texture without smoothing: a cell is a cell. @param {number} unit */
  texture(unit) {
    const { gl } = this;
    const made = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, made);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    }
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) {
      gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    }
    return made;
  }

  /** @param {Uint8ClampedArray<ArrayBuffer>} table colours of the 256 bytes */
  setTable(table) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.colours);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE,
      new Uint8Array(table));
    this.background = [...table.slice(0, 3)].map((value) => value / 255);
  }

  /** @param {string} key @param {number} rows @param {number} columns @param {Uint8Array} bytes */
  put(key, rows, columns, bytes) {
    const { gl } = this;
    this.drop(key);
    this.tiles.set(key, this.texture(0));
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, columns, rows, 0, gl.RED, gl.UNSIGNED_BYTE, bytes);
  }

  /** @param {string} key */
  drop(key) {
    const found = this.tiles.get(key);
    if (found) this.gl.deleteTexture(found);
    this.tiles.delete(key);
  }

  /** @param {string} key */
  has(key) {
    return this.tiles.has(key);
  }

  /** Draws tiles at places of the canvas, in pixels. @param {Placed[]} placed */
  draw(placed) {
    const { gl, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    const [red = 0, green = 0, blue = 0] = this.background;
    gl.clearColor(red, green, blue, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.activeTexture(gl.TEXTURE0);
    for (const { key, x, y, width, height } of placed) {
      const texture = this.tiles.get(key);
      if (!texture) continue;
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.uniform4f(this.box, x / canvas.width, y / canvas.height,
        width / canvas.width, height / canvas.height);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
  }

  end() {
    for (const key of [...this.tiles.keys()]) this.drop(key);
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
