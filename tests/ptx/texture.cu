// Textures and surfaces, as nvcc spells them.
__global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4* out, int x) {
  out[0] = tex2D<float4>(t, 0.5f, 1.5f); out[1].x = tex1Dfetch<float>(t, x); out[2] = tex2DLod<float4>(t, 0.1f, 0.2f, 1.f);
  out[3] = tex3D<float4>(t, 0.f, 1.f, 2.f); out[4] = texCubemap<float4>(t, 0.f, 1.f, 2.f); out[5] = tex2DLayered<float4>(t, 0.f, 1.f, 2);
  out[6] = tex2Dgather<float4>(t, 0.f, 1.f, 2); out[7] = tex2DGrad<float4>(t, 0.f, 1.f, make_float2(1, 2), make_float2(3, 4));
  float v;
  surf2Dread(&v, s, x * 4, 3); surf2Dwrite(v + 1, s, x * 4, 4, cudaBoundaryModeZero); surf1Dwrite(v, s, x);
}
