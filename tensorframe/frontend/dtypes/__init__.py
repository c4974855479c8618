"""Dtypes as users name them: conversion, promotion, limits, scalar types."""
